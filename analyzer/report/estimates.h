// Estimates a simulated GPU's memory outside PyTorch's allocator, from published measurements on real GPUs. Each
// estimate has its own name; a sum would be meaningless. docs/simulated-gpu.md has the sources.
#pragma once

#include <optional>
#include <string>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// The usual maximum of CUDA's context, cuBLAS and NCCL together in a program on one GPU. A smaller headroom may be too
// small.
inline constexpr Bytes kMostlyOutside{int64_t{1} << 30};

// None: the GPU is real, or the process used none.
std::optional<OutsideEstimate> estimate_outside(const peak::Analysis& analysis);

// The process with the most communicators: one sentence. A second sentence follows if a GPU has too little memory for
// the recorded bytes and the estimate together. Empty: no estimate.
std::string estimates_text(const Report& report);

}  // namespace tapelens::report
