// The autograd graph as it grows.
#pragma once

#include "profiler/observe/saved_fields.h"
#include "profiler/observe/thread.h"

namespace tapelens::observe {

// Never destroyed.
const NodeType& node_type(Thread& thread, const torch::autograd::Node& node);

// What a node calls itself: "ReluBackward0"; of a Python function the name of its class.
std::string node_name(const torch::autograd::Node& node);

// Tells the observers of the nodes and saves that this thread made in a frame and not yet in one inside it, and forgets
// them: they are whole now.
void settle_graph(Thread& thread, const Frame& frame);

}  // namespace tapelens::observe
