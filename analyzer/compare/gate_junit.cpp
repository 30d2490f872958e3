// A verdict as JUnit XML: one test case an item.
#include "analyzer/compare/renderings.h"
#include "analyzer/compare/words.h"
#include "analyzer/report/escape.h"

namespace tapelens::compare {

namespace {

// Escapes text for elements and attributes. printable() has already replaced characters that XML 1.0 cannot contain.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : report::printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

const char* class_of(Item::Kind kind) {
  switch (kind) {
    case Item::Kind::budget:
      return "tapelens.budget";
    case Item::Kind::figure:
      return "tapelens.baseline";
    case Item::Kind::finding:
      break;
  }
  return "tapelens.finding";
}

}  // namespace

std::string verdict_junit(const Verdict& verdict, const Rendering& how) {
  const std::string counts = "tests=\"" + std::to_string(verdict.items.size()) + "\" failures=\"" +
                             std::to_string(verdict.failed()) + "\" errors=\"0\"";
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
                    ">\n  <testsuite name=\"tapelens check\" " + counts + ">\n";
  for (const Item& item : verdict.items) {
    out += "    <testcase classname=\"" + std::string(class_of(item.kind)) + "\" name=\"" + xml(item.name) + "\"";
    if (item.passed) {
      out += "/>\n";
      continue;
    }
    if (item.cause.where.line != 0) {
      const std::string within = check::in_repository(item.cause.where.file, how.tree);
      out += " file=\"" + xml(within.empty() ? item.cause.where.file : within) + "\" line=\"" +
             std::to_string(item.cause.where.line) + "\"";
    }
    out += ">\n      <failure message=\"" + xml(failed_text(item)) + "\">";
    out += xml(item.cause.why);
    for (const ComparedRow& row : item.grown) out += "\n" + xml(row_text(row));
    out += "</failure>\n    </testcase>\n";
  }
  if (!verdict.remarks.empty()) {
    out += "    <system-out>";
    for (const std::string& remark : verdict.remarks) out += xml(remark) + "\n";
    out += "</system-out>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace tapelens::compare
