// Gradients that are zeroed and kept, instead of given back, while the next graph is made.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct Zeroed {
  AllocationId gradient;
  OperatorId op;  // that zeroed it first
  // From each zeroing to the end of the accumulation after it, when nobody reads it. The last may go to the end of its
  // life.
  std::vector<Interval> idle;
};

// Only gradients that are accumulated again after each zeroing but the last: an optimizer skips a parameter without a
// gradient, but steps one whose gradient is zero.
std::vector<Zeroed> zeroed_gradients(const Context& context);

}  // namespace tapelens::check
