// The autograd graph as it grows.
#pragma once

#include "profiler/observe/saved_fields.h"
#include "profiler/observe/thread.h"

namespace tapelens::observe {

// Never destroyed.
const NodeType& node_type(Thread& thread, const torch::autograd::Node& node);

// The name that a node reports: "ReluBackward0". For a Python function, the name of its class.
std::string node_name(const torch::autograd::Node& node);

// Reports to the observers the nodes and saves that this thread made in an open call, without those of calls inside it,
// and forgets them: they are complete now.
void settle_graph(Thread& thread, const OpenCall& open_call);

}  // namespace tapelens::observe
