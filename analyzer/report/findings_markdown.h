// The findings of a report as GitHub Markdown. Both functions require `report.advice`.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace tapelens::report {

// `rows`: the number of findings shown in full.
std::string advice_markdown(const Report& report, size_t rows);
// A table of the entries that are not small, and a line with the number of small entries.
std::string findings_table(const Report& report);

}  // namespace tapelens::report
