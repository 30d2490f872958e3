// What a recording lacks, said so that a user knows what to do about it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

std::vector<Lost> losses_of(const model::Process& process);
std::vector<Lost> losses_of(const model::Text& text);  // of what all processes share: pid 0
// Of a run on simulated GPUs, for the first lines of a report: one sentence or two; empty for other runs.
std::string simulated_text(const RecordingFacts& facts);
// Of the checks that do not look at what is imported, likewise.
std::string not_looked_text(const advise::Advice& advice);
// Of what was imported, what is not in it, likewise.
std::string imported_text(const RecordingFacts& facts);
// Where CUDA's memory was handed out by an allocator that tells of nothing; empty: it was not.
std::string hidden_text(const std::vector<ProcessFacts>& processes);
bool is_complete(const std::vector<Lost>& lost);  // no data was lost

}  // namespace tapelens::report
