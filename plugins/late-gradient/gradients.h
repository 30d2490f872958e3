// Gradients that stay allocated longer than needed.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// A gradient of an imported recording that stays allocated while the next forward runs.
struct SpentGradient {
  AllocationId gradient;
  AllocationId in_step;  // the last allocation of the last optimizer step in the gradient's life
  Time forward;          // the first allocation of a forward after `in_step`
};

// Gradients that are alive in a step and a later forward, and that are freed before the next backward allocates memory.
std::vector<SpentGradient> spent_gradients(const Context& context);

// A gradient of a sharded parameter (FSDP2) that a backward leaves unsharded for a later backward.
struct Whole {
  AllocationId gradient;
  Time reduced;  // time at which a synchronising backward would have reduced the gradient
  Bytes shard;   // size of this rank's shard
};

// In the order of allocations. A gradient is unsharded if it has at least twice the bytes of the smallest parameter of
// its name. Empty without FSDP2.
std::vector<Whole> whole_gradients(const Context& context);

// The line that called the gradient's backward. All gradients of a model are one finding.
StackId backward_stack(const Context& context, AllocationId gradient);

// A gradient that the program zeroes instead of freeing, and keeps while it makes the next graph.
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
