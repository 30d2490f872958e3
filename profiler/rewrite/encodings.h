// The same gradients, or the same values, from fewer bytes: a bit an element, or narrower integers.
#pragma once

#include <memory>

#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// The interval that a backward asks about: does the gradient of this element pass?
struct Interval {
  double low, high;
  bool closed;             // low and high belong to it
  double inside, outside;  // values that are decoded for elements in it and out of it
  // Whether CUDA's kernel lets the gradient of a NaN pass. Those of the CPU differ among themselves.
  bool cuda_passes_nan = false;
};
// Null if the interval and its two values cannot be told apart in the tensor's dtype; on the CPU also if there is a NaN
// among the values. Needs a dense tensor, as all of these do.
//
// On CUDA nothing is known of the values but what the arguments say, since to look at them is to wait for the device.
std::unique_ptr<Encoding> encode_between(const at::Tensor& tensor, const Interval& interval);

// Exact. Null unless all elements have one of two bit patterns; on CUDA, unless they are bools.
std::unique_ptr<Encoding> encode_two_valued(const at::Tensor& tensor);

// Exact. int64 as int32 or int16; null if the values have no room there. `below`: they are known to be at least -1 and
// less than this; 0: nothing is known, which on CUDA is null.
std::unique_ptr<Encoding> encode_narrow(const at::Tensor& tensor, int64_t below);

}  // namespace tapelens::rewrite
