// Encodings that give the same gradients, or the same values, from fewer bytes: one bit per element, or narrower
// integers.
#pragma once

#include <cstdint>
#include <memory>

#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// The interval of the input in which a backward passes an element's gradient.
struct ValueInterval {
  double low, high;
  bool closed;             // low and high belong to the interval
  double inside, outside;  // decoded values for elements inside and outside of it
  // Whether CUDA's kernel passes the gradient of a NaN. CPU kernels differ in this.
  bool cuda_passes_nan = false;
};
// Null if the tensor's dtype cannot distinguish the interval and its two values; on the CPU also if any value is NaN.
// Needs a dense tensor, like all functions here.
//
// On CUDA the values are known only from the arguments, because reading them would wait for the device.
std::unique_ptr<Encoding> encode_between(const at::Tensor& tensor, const ValueInterval& interval);

// Exact. Null unless all elements have one of two bit patterns; on CUDA, unless they are bools.
std::unique_ptr<Encoding> encode_two_valued(const at::Tensor& tensor);

// Exact. int64 as int32 or int16; null if the values do not fit. `below`: all values are known to be at least -1 and
// less than this. 0: no bound is known, which returns null on CUDA.
std::unique_ptr<Encoding> encode_narrow(const at::Tensor& tensor, int64_t below);

// On a GPU, by operators of LibTorch on the current stream. Called by the functions above, which check that the tensor
// is dense and that its dtype is supported.
// `outside`, `inside`: the bits of the two values in the tensor's dtype.
std::unique_ptr<Encoding> encode_between_on_device(const at::Tensor& tensor, const ValueInterval& interval,
                                                   uint64_t outside, uint64_t inside);
std::unique_ptr<Encoding> encode_bools_on_device(const at::Tensor& tensor);
// Null if `below` does not fit in 32 bits.
std::unique_ptr<Encoding> encode_narrow_on_device(const at::Tensor& tensor, int64_t below);

}  // namespace tapelens::rewrite
