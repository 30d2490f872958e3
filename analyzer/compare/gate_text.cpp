// A verdict as text: failed items first, one line each, then the rows that grew, then all checked items.
#include <algorithm>
#include <set>

#include "analyzer/check/sources.h"
#include "analyzer/compare/renderings.h"
#include "analyzer/text/format.h"
#include "analyzer/text/layout.h"

namespace tapelens::compare {

namespace {

using text::Paint;

// "src/train.py:42:1: error: peak of cpu 19.0 MiB -> 35.0 MiB (...): self.last = hidden [peak]": the form of compilers,
// which editors read. Column 1, because the whole line is meant.
std::string error_text(const Item& item, const check::SourceTree& tree) {
  std::string file = check::in_repository(item.cause.where.file, tree);
  if (file.empty()) file = item.cause.where.file;
  const std::string place =
      item.cause.where.line == 0 ? "" : file + ":" + std::to_string(item.cause.where.line) + ":1: ";
  const std::string rule = item.kind == Item::Kind::finding ? item.name.substr(item.name.rfind(' ') + 1)
                                                            : std::string(metric_name(item.metric));
  return place + "error: " + figure_text(item) + (item.cause.statement.empty() ? "" : ": " + item.cause.statement) +
         " [" + rule + "]";
}

void add_grown(text::Page& page, const Item& item) {
  page.heading("Growth at the peak of " + item.device, "in the baseline -> now");
  for (size_t i = 0; i < std::min(item.grown.size(), page.rows()); ++i) {
    page.line(row_text(item.grown[i]));
  }
  if (item.grown.size() <= page.rows()) return;
  Bytes rest;
  for (size_t i = page.rows(); i < item.grown.size(); ++i) rest += item.grown[i].difference();
  page.line(page.paint(Paint::dim, "  and " + text::count_text(item.grown.size() - page.rows()) + " more, " +
                                       signed_text(rest) + " in all (--top lists more)"));
}

}  // namespace

std::string verdict_text(const GateResult& verdict, const Rendering& how) {
  text::Page page(how.style);
  for (const Item& item : verdict.items) {
    if (item.passed) continue;
    page.line(page.paint(Paint::red, error_text(item, how.tree)));
    if (!item.cause.why.empty()) page.line(page.paint(Paint::dim, "  " + item.cause.why));
  }
  std::set<std::string> shown;
  for (const Item& item : verdict.items) {
    if (!item.grown.empty() && shown.insert(item.device).second) add_grown(page, item);
  }
  if (!verdict.passed()) page.line("");
  const size_t passed = verdict.items.size() - verdict.failed();
  page.line(page.paint(Paint::bold, verdict.passed() ? "Passed: " + text::plural(passed, "check", "checks")
                                                     : "Failed: " + std::to_string(verdict.failed()) + " of " +
                                                           text::plural(verdict.items.size(), "check", "checks")));
  for (const Item& item : verdict.items) {
    if (item.passed) page.line("  " + figure_text(item));
  }
  for (const std::string& remark : verdict.remarks) page.paragraph("  ", remark, Paint::dim);
  return page.take();
}

}  // namespace tapelens::compare
