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
};
// Null if there is a NaN among the values, of which kernels make different things, or if the interval and its two
// values cannot be told apart in the tensor's dtype. Needs a dense tensor.
std::unique_ptr<Encoding> encode_between(const at::Tensor& tensor, const Interval& interval);

// Exact. Null unless all elements have one of two bit patterns.
std::unique_ptr<Encoding> encode_two_valued(const at::Tensor& tensor);

// Exact. int64 as int32 or int16; null if the values have no room there.
std::unique_ptr<Encoding> encode_narrow(const at::Tensor& tensor);

}  // namespace tapelens::rewrite
