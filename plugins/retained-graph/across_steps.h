// Memory that graphs keep across steps.
#pragma once

#include <set>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"
#include "plugins/retained-graph/keepers.h"

namespace tapelens::check {

// The end of an allocation in a model that backward(create_graph=True) keeps in a cycle: the gradient's graph refers to
// the parameter, and the parameter's .grad refers to the gradient.
struct CycleEnd {
  NodeId entry;  // entry of the graph that keeps the allocation
  AllocationId allocation;
  Time until;           // end of its life without the graph
  AllocationId copied;  // the source that can replace it; none: not such a copy
};

// Parameters and gradients that only the graphs of `entries` keep. Without the graphs, a model that the program does
// not use again lives until the next model is made. `born`: by node, the index of its step.
std::vector<CycleEnd> models_in_cycles(const Context& context, const Keepers& keepers, const std::set<NodeId>& entries,
                                       const std::vector<uint32_t>& born);

// Finds the allocations of a backward in the graphs of earlier steps, and on the way to them. A detached tensor avoids
// them. `born`: by node, the index of its step. Excludes gradients of parameters, which exist in any case.
std::vector<AllocationId> made_for_the_past(const Context& context, const Graphs& graphs,
                                            const std::vector<uint32_t>& born);

}  // namespace tapelens::check
