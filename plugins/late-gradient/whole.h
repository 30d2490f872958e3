// Finds gradients of sharded parameters (FSDP2) that a backward leaves unsharded for a later backward.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct Whole {
  AllocationId gradient;
  Time reduced;  // time at which a synchronising backward would have reduced the gradient
  Bytes shard;   // size of this rank's shard
};

// In the order of allocations. A gradient is unsharded if it has at least twice the bytes of the smallest parameter of
// its name.
std::vector<Whole> whole_gradients(const Context& context);

// The line that called the gradient's backward. All gradients of a model are one finding.
StackId backward_stack(const Context& context, AllocationId gradient);

}  // namespace tapelens::check
