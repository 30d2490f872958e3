// The parts of a report that are about one device of one process.
#pragma once

#include <optional>
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

// ---- the resident memory of the process (RSS), compared with the CPU memory that the recording has

// None: the recording does not have it.
std::optional<HostMemory> describe_host_memory(const peak::Analysis& analysis);

// ---- estimates of a simulated GPU's memory outside PyTorch's allocator, from published measurements on real GPUs.
// Each estimate has its own name; a sum would be meaningless. docs/simulated-gpu.md has the sources

// None: the GPU is real, or the process used none.
std::optional<ExternalEstimate> estimate_external(const peak::Analysis& analysis);

}  // namespace tapelens::report
