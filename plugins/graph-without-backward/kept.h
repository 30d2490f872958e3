// Backwards that kept their graph (retain_graph=True, create_graph=True) although no node of it was evaluated again.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

// A save that would have been released by the backward.
struct KeptSave {
  SaveId save;
  Time evaluated;     // when the evaluation of its node ended
  uint32_t backward;  // its place in Process::backwards
};

// In the order of their allocations, and of backwards for each. Nothing of a line whose graphs were needed at any time.
std::vector<KeptSave> kept_for_nothing(const Context& context, const Graphs& graphs);

}  // namespace tapelens::check
