// Checksums of losses, gradients and parameters for `tapelens verify`: taken only on its request (TAPELENS_CHECKSUMS).
// The code does not copy tensors, allocate through LibTorch or throw.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <cstdint>
#include <vector>

#include "profiler/record/thread_state.h"
#include "trace/record.h"

namespace tapelens::record {

bool checksums_wanted();

// Sets the name of the parameter from now on. `name` is an interned string's text.
void name_for_checksums(ThreadState& thread, c10::TensorImpl* parameter, std::string_view name);

// The losses of a backward: its roots with one element.
void checksum_roots(ThreadState& thread, const std::vector<torch::autograd::Edge>& roots);

}  // namespace tapelens::record
