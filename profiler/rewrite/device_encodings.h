// Encodings of tensors on a GPU, by operators of LibTorch on the current stream. Called by the functions of
// encodings.h, which check that the tensor is dense and that its dtype is supported.
#pragma once

#include <cstdint>
#include <memory>

#include "profiler/rewrite/encodings.h"

namespace tapelens::rewrite {

// `outside`, `inside`: the bits of the two values in the tensor's dtype.
std::unique_ptr<Encoding> encode_between_on_device(const at::Tensor& tensor, const Interval& interval, uint64_t outside,
                                                   uint64_t inside);
std::unique_ptr<Encoding> encode_bools_on_device(const at::Tensor& tensor);
// Null if `below` does not fit in 32 bits.
std::unique_ptr<Encoding> encode_narrow_on_device(const at::Tensor& tensor, int64_t below);

}  // namespace tapelens::rewrite
