// Backwards that kept their graph (retain_graph=True, create_graph=True) although no node of it was evaluated again.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

// A save of a graph that a backward kept. Without retain_graph or create_graph, the backward releases the save.
struct KeptSave {
  SaveId save;
  Time evaluated;     // end of the evaluation of its node
  uint32_t backward;  // index into Process::backwards
};

// Sorted by allocation, then by backward. Excludes all backwards of a line if a later backward needed one of their
// graphs.
std::vector<KeptSave> kept_for_nothing(const Context& context, const Graphs& graphs);

}  // namespace tapelens::check
