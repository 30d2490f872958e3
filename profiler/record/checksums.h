// Checksums of losses, gradients and parameters, for `tapelens verify` to compare: taken only where it asks for them
// (TAPELENS_CHECKSUMS). Nothing here copies a tensor, allocates through LibTorch or throws.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <cstdint>
#include <vector>

#include "profiler/record/thread_state.h"
#include "trace/record.h"

namespace tapelens::record {

bool checksums_wanted();

// What the parameter is called, from now on. `name` is an interned string's text.
void name_for_checksums(ThreadState& thread, c10::TensorImpl* parameter, std::string_view name);

// The losses that a backward begins at: those of its roots that have one element.
void checksum_roots(ThreadState& thread, const std::vector<torch::autograd::Edge>& roots);

}  // namespace tapelens::record
