// Models that backward(create_graph=True) keeps: a gradient with a graph leads to its parameter, and that has it in
// .grad.
#pragma once

#include <set>
#include <vector>

#include "analyzer/check/check.h"
#include "plugins/retained-graph/keepers.h"

namespace tapelens::check {

struct Ending {
  NodeId entry;  // of the graph that keeps it
  AllocationId allocation;
  Time until;           // that it would have lived without
  AllocationId copied;  // what it is a copy of, and what could stand for it; none: it is no such copy
};

// Parameters and gradients that only the graphs of `entries` keep. Without, a model that is not used again lives until
// the next one is made. `born`: by node, the place of its step.
std::vector<Ending> models_in_cycles(const Context& context, const Keepers& keepers, const std::set<NodeId>& entries,
                                     const std::vector<uint32_t>& born);

}  // namespace tapelens::check
