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
std::vector<Range> describe_ranges(const peak::Analysis& analysis, const peak::Timeline& timeline);

}  // namespace tapelens::report
