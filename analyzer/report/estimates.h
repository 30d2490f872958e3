// What a simulated GPU's program would have of the GPU besides what PyTorch's allocator hands out: estimates of what
// others measured on real ones, by name, in no sum. docs/simulated-gpu.md has the sources.
#pragma once

#include <optional>
#include <string>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// What CUDA's context, cuBLAS and NCCL mostly take together at most, in a program on one GPU: less headroom than that
// may not be enough.
inline constexpr Bytes kMostlyOutside{int64_t{1} << 30};

// None: the GPU is real, or the process used none.
std::optional<OutsideEstimate> estimate_outside(const peak::Analysis& analysis);

// Of the process that made the most communicators: one sentence, and a second one where a GPU's memory is not enough
// for both. Empty: there is nothing to say.
std::string estimates_text(const Report& report);

}  // namespace tapelens::report
