// Checksums of losses, gradients and parameters, for `tapelens verify` to compare: taken only where it asks for them
// (TAPELENS_CHECKSUMS). Nothing here copies a tensor, allocates through LibTorch or throws.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <cstdint>
#include <vector>

#include "profiler/observe/thread.h"
#include "trace/record.h"

namespace tapelens::capture {

bool checksums_wanted();

// Of a gradient or a parameter on the CPU, strided or sparse; of what is neither, one line for the user the first time.
// `parameter` names it: by the name that its module has for it, else by its number in the order of first sight.
void checksum(Thread& thread, trace::ChecksumOf of, const c10::TensorImpl* parameter, const at::Tensor& values);

// The parameter's gradient as it is now, if it has one, or its values.
void checksum_parameter(Thread& thread, trace::ChecksumOf of, c10::TensorImpl* parameter);

// What the parameter is called, from now on. `name` is an interned string's text.
void name_for_checksums(c10::TensorImpl* parameter, std::string_view name);

// A tensor that came to be an output of `node`: if it has one element it may be a loss.
void checksum_output(const at::Tensor& tensor, const torch::autograd::Node* node);

// The losses that a backward begins at: those of its roots that have one element.
void checksum_roots(Thread& thread, const std::vector<torch::autograd::Edge>& roots);

}  // namespace tapelens::capture
