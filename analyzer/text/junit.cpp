#include "analyzer/text/junit.h"

#include <algorithm>

#include "analyzer/text/escape.h"

namespace tapelens::text {

namespace {

std::string attribute(const char* name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml(value) + "\"";
}

std::string failure_xml(const JunitCase::Failure& failure) {
  std::string out = "      <failure" + attribute("message", failure.message) + ">";
  for (size_t i = 0; i < failure.details.size(); ++i) out += (i > 0 ? "\n" : "") + xml(failure.details[i]);
  return out + "</failure>\n";
}

std::string case_xml(const JunitCase& one) {
  std::string out = "    <testcase" + attribute("classname", one.class_name) + attribute("name", one.name);
  if (!one.failure) return out + "/>\n";
  if (one.failure->line != 0) {
    out += attribute("file", one.failure->file) + attribute("line", std::to_string(one.failure->line));
  }
  return out + ">\n" + failure_xml(*one.failure) + "    </testcase>\n";
}

}  // namespace

std::string junit_document(std::string_view suite, std::span<const JunitCase> cases,
                           std::span<const std::string> remarks) {
  const auto failed = std::ranges::count_if(cases, [](const JunitCase& one) { return one.failure.has_value(); });
  const std::string counts = attribute("tests", std::to_string(cases.size())) +
                             attribute("failures", std::to_string(failed)) + attribute("errors", "0");
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts + ">\n  <testsuite" +
                    attribute("name", suite) + counts + ">\n";
  for (const JunitCase& one : cases) out += case_xml(one);
  if (!remarks.empty()) {
    out += "    <system-out>";
    for (const std::string& remark : remarks) out += xml(remark) + "\n";
    out += "</system-out>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace tapelens::text
