// What a backward computes in the graphs of earlier steps, and on the way to them: all that a detached tensor spares.
#pragma once

#include <vector>

#include "plugins/check.h"
#include "plugins/graphs.h"

namespace tapelens::advise {

// `born`: by node, the index of its step. Gradients of parameters are not among them: they are there in any case.
std::vector<AllocationId> made_for_the_past(const Context& context, const Graphs& graphs,
                                            const std::vector<uint32_t>& born);

}  // namespace tapelens::advise
