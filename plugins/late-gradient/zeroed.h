// Gradients that the program zeroes instead of freeing, and keeps while it makes the next graph.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct Zeroed {
  AllocationId gradient;
  OperatorId op;  // the operator that zeroed it first
  // Intervals without a read: from each zeroing to the end of the next accumulation. The last interval may end with the
  // gradient's life.
  std::vector<Interval> idle;
};

// Only gradients that are accumulated again after each zeroing except the last. An optimizer skips a parameter without
// a gradient, but steps a parameter whose gradient is zero.
std::vector<Zeroed> zeroed_gradients(const Context& context);

}  // namespace tapelens::check
