// A verdict as workflow commands of GitHub Actions: each failed item is an annotation at the line that it names.
#include <algorithm>

#include "analyzer/check/sources.h"
#include "analyzer/compare/renderings.h"
#include "analyzer/text/escape.h"

namespace tapelens::compare {

namespace {

// Escapes the characters that end a command's text or property. printable() has already replaced other unprintable
// ones.
std::string escaped(std::string_view text, std::string_view what) {
  std::string out;
  for (const char c : text) {
    if (what.find(c) == std::string_view::npos) {
      out += c;
      continue;
    }
    constexpr const char* kDigits = "0123456789ABCDEF";
    out += {'%', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
  }
  return out;
}
std::string property(std::string_view text) { return escaped(text::printable(text), "%\r\n:,"); }
std::string message(std::string_view text) { return escaped(text::printable_lines(text), "%\r\n"); }

}  // namespace

std::string verdict_github(const GateResult& verdict, const Rendering& how) {
  std::string out;
  for (const Item& item : verdict.items) {
    if (item.passed) continue;
    out += "::error title=" + property(item.name);
    const std::string file = check::in_repository(item.cause.where.file, how.tree);
    if (!file.empty()) {  // GitHub refuses a path outside of the repository
      out += ",file=" + property(file) + ",line=" + std::to_string(item.cause.where.line);
    }
    std::string text = failed_text(item);
    if (!item.cause.why.empty()) text += "\n" + item.cause.why;
    for (size_t i = 0; i < std::min(item.grown.size(), how.style.rows); ++i) text += "\n" + row_text(item.grown[i]);
    out += "::" + message(text) + "\n";
  }
  for (const std::string& remark : verdict.remarks) out += "::notice::" + message(remark) + "\n";
  return out;
}

}  // namespace tapelens::compare
