// Gradients of a sharded parameter (FSDP2) that one backward leaves whole for a later one.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct Whole {
  AllocationId gradient;
  Time reduced;  // when a backward that synchronises has reduced it: the gradients of the next modules are there
  Bytes shard;   // of this rank
};

// In the order of allocations. Whole: at least twice the smallest parameter of its name.
std::vector<Whole> whole_gradients(const Context& context);

// The line that a gradient's backward was called at: all of a model's gradients are one finding.
StackId backward_stack(const Context& context, AllocationId gradient);

}  // namespace tapelens::check
