// Sentences about the data that a recording lacks, and about how to record it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

// These texts are one or two sentences for the first lines of a report. They are empty if they do not apply.
// A run on simulated GPUs.
std::string simulated_text(const RecordingFacts& facts);
// Checks that do not run on an imported recording.
std::string not_looked_text(const advise::Advice& advice);
// The values that the simulated GPU did not compute, and that the program read.
std::string value_reads_text(const Report& report);
// Data that an imported recording does not have.
std::string imported_text(const RecordingFacts& facts);
// A CUDA allocator that does not report its allocations.
std::string hidden_text(const std::vector<ProcessFacts>& processes);

}  // namespace tapelens::report
