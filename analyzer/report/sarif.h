// The findings of a report as SARIF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/sources.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// A check as a SARIF rule.
struct Rule {
  std::string id, title, help;
  std::string page;  // Markdown; empty: no page
};

// Requires `report.advice`.
std::string sarif(const Report& report, const std::vector<Rule>& rules, const check::SourceTree& tree,
                  std::string_view version);

}  // namespace tapelens::report
