// Gradients that are zeroed and kept, instead of given back, while the next graph is made.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct Zeroed {
  AllocationId gradient;
  OperatorId op;  // that zeroed it first
  // Intervals without a read: from each zeroing to the end of the next accumulation. The last interval may end with the
  // gradient's life.
  std::vector<Interval> idle;
};

// Only gradients that are accumulated again after each zeroing but the last: an optimizer skips a parameter without a
// gradient, but steps one whose gradient is zero.
std::vector<Zeroed> zeroed_gradients(const Context& context);

}  // namespace tapelens::check
