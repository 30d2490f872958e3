// JUnit's XML, and the escape of XML.
#include <gtest/gtest.h>

#include <vector>

#include "analyzer/text/escape.h"
#include "analyzer/text/junit.h"

namespace tapelens::text {
namespace {

TEST(Xml, HasNoMarkupAndNoControlCharacters) {
  EXPECT_EQ(xml("<a b=\"c\"> & 'd' @e #f\x1b"), "&lt;a b=&quot;c&quot;&gt; &amp; 'd' @e #f\\x1b");
}

TEST(Junit, CountsTheTestsAndNamesThePlaceOfAFailure) {
  const std::vector<JunitCase> cases = {
      {"budgets", "peak of <cpu>", std::nullopt},
      {"budgets", "saved", JunitCase::Failure{"train.py", 7, "9 > 8", {"grew by 1 & more", "in Net"}}},
      {"budgets", "elsewhere", JunitCase::Failure{"", 0, "2 > 1", {"why"}}}};
  EXPECT_EQ(junit_document("tapelens check", cases, std::vector<std::string>{"one remark"}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites tests=\"3\" failures=\"2\" errors=\"0\">\n"
            "  <testsuite name=\"tapelens check\" tests=\"3\" failures=\"2\" errors=\"0\">\n"
            "    <testcase classname=\"budgets\" name=\"peak of &lt;cpu&gt;\"/>\n"
            "    <testcase classname=\"budgets\" name=\"saved\" file=\"train.py\" line=\"7\">\n"
            "      <failure message=\"9 &gt; 8\">grew by 1 &amp; more\nin Net</failure>\n"
            "    </testcase>\n"
            "    <testcase classname=\"budgets\" name=\"elsewhere\">\n"
            "      <failure message=\"2 &gt; 1\">why</failure>\n"
            "    </testcase>\n"
            "    <system-out>one remark\n"
            "</system-out>\n"
            "  </testsuite>\n"
            "</testsuites>\n");
}

}  // namespace
}  // namespace tapelens::text
