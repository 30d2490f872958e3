// The parts of a report that are about one device of one process.
#pragma once

#include <vector>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// `set`: what was alive at the moment that is looked at.
Peak describe_peak(const peak::Analysis& analysis, const peak::PeakSet& set, const Options& options);
std::vector<OutOfMemory> describe_out_of_memory(const model::Process& process, const model::Text& text);
std::vector<Step> describe_steps(const peak::Analysis& analysis, const peak::Timeline& timeline);
std::vector<Range> describe_ranges(const peak::Analysis& analysis, const peak::Timeline& timeline);

}  // namespace tapelens::report
