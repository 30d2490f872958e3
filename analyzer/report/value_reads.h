// Where values that a simulated GPU did not compute came to the program: there a program on a real GPU may go another
// way.
#pragma once

#include <string>
#include <vector>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// In the order in which they were first met.
std::vector<ValueRead> describe_value_reads(const peak::Analysis& analysis);

// Of all processes, for the first lines of a report: one sentence; empty if there are none.
std::string value_reads_text(const Report& report);

}  // namespace tapelens::report
