// Estimates a simulated GPU's memory outside PyTorch's allocator, from published measurements on real GPUs. Each
// estimate has its own name; a sum would be meaningless. docs/simulated-gpu.md has the sources.
#pragma once

#include <optional>
#include <string>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// None: the GPU is real, or the process used none.
std::optional<OutsideEstimate> estimate_outside(const peak::Analysis& analysis);

// The process with the most communicators: one sentence. A second sentence follows if a GPU has too little memory for
// the recorded bytes and the estimate together. Empty: no estimate.
std::string estimates_text(const Report& report);

}  // namespace tapelens::report
