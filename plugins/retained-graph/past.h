// Finds the allocations of a backward in the graphs of earlier steps, and on the way to them. A detached tensor avoids
// them.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

// `born`: by node, the index of its step. Excludes gradients of parameters, which exist in any case.
std::vector<AllocationId> made_for_the_past(const Context& context, const Graphs& graphs,
                                            const std::vector<uint32_t>& born);

}  // namespace tapelens::check
