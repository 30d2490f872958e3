// The places where the program read values that a simulated GPU did not compute. On a real GPU the program may take
// another branch there.
#pragma once

#include <string>
#include <vector>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// In the order in which they were first met.
std::vector<ValueRead> describe_value_reads(const peak::Analysis& analysis);

// Covers all processes, for the first lines of a report: one sentence; empty if the program read no such value.
std::string value_reads_text(const Report& report);

}  // namespace tapelens::report
