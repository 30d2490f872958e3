// A verdict for the summary of a CI job.
#include <algorithm>

#include "analyzer/compare/renderings.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

using text::cell;
using text::code;

std::string verdict_markdown(const GateResult& verdict, const Rendering& how) {
  std::string out = "### Memory: " +
                    (verdict.passed() ? text::plural(verdict.items.size(), "check", "checks") + " passed"
                                      : std::to_string(verdict.failed()) + " of " +
                                            text::plural(verdict.items.size(), "check", "checks") + " failed") +
                    "\n\n";
  for (const Item& item : verdict.items) {
    if (item.passed) continue;
    const std::string line = line_text(item.cause);
    out += "- " + (line.empty() ? "" : code(line) + ": ") + "**" + cell(figure_text(item)) + "**";
    if (!item.cause.statement.empty()) out += " " + code(item.cause.statement);
    if (!item.cause.why.empty()) out += " (" + cell(item.cause.why) + ")";
    out += "\n";
  }
  for (const Item& item : verdict.items) {
    if (item.grown.empty()) continue;
    out += "\n| change | before | now | held by | module | line |\n| ---: | ---: | ---: | --- | --- | --- |\n";
    for (size_t i = 0; i < std::min(item.grown.size(), how.style.rows); ++i) {
      const ComparedRow& row = item.grown[i];
      const Row& shown = row.shown();
      out += "| " + signed_text(row.difference()) + " | " + text::bytes_text(row.before()) + " | " +
             text::bytes_text(row.after()) + " | " + code(holder_text(shown)) + " | " +
             (shown.module.empty() ? "" : code(shown.module)) + " | " + code(place_text(shown.source)) + " |\n";
    }
    if (item.grown.size() > how.style.rows) {
      out += "\nAnd " + std::to_string(item.grown.size() - how.style.rows) + " more.\n";
    }
    break;  // only the first failed item; the JSON has all
  }
  bool is_first = true;
  for (const Item& item : verdict.items) {
    if (!item.passed) continue;
    out += (is_first ? "\nPassed:\n\n- " : "- ") + cell(figure_text(item)) + "\n";
    is_first = false;
  }
  is_first = true;
  for (const std::string& remark : verdict.remarks) {
    out += (is_first ? "\n- " : "- ") + cell(remark) + "\n";
    is_first = false;
  }
  return out;
}

}  // namespace tapelens::compare
