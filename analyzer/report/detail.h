// The parts of a report that are about one device of one process.
#pragma once

#include <string>
#include <vector>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// `set`: the allocations alive at the selected moment.
Peak describe_peak(const peak::Analysis& analysis, const peak::PeakSet& set, const Options& options);
// `set`: the allocations alive at the selected moment.
std::vector<ModuleTable> describe_modules(const peak::DeviceAnalysis& device, const peak::PeakSet& set,
                                          const Options& options);
std::vector<OutOfMemory> describe_out_of_memory(const model::Process& process, const model::Text& text);
// "cuda:0 had no room for 1.5 GiB, train.py:12 forward (Net.layer)".
std::string out_of_memory_text(const OutOfMemory& full);
std::vector<Step> describe_steps(const peak::Analysis& analysis, const peak::Timeline& timeline);
std::vector<Range> describe_ranges(const peak::Analysis& analysis, const peak::Timeline& timeline);

}  // namespace tapelens::report
