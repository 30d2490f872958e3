// The autograd graph as it grows: nodes, their edges and what they save.
#pragma once

#include "profiler/observe/saved_fields.h"
#include "profiler/observe/thread.h"

namespace tapelens::capture {

const NodeType& node_type(Thread& thread, const torch::autograd::Node& node);

// Writes the nodes and saves that this thread made in a frame and not yet in one inside it, and forgets them: they are
// whole now.
void settle_graph(Thread& thread, const Frame& frame);

// The evaluation of a node ended: an AccumulateGrad has given its parameter a gradient.
void evaluation_ends(Thread& thread, torch::autograd::Node& node);

// The name of a tensor that is a parameter, told by its module (TensorImpl -> string id); 0 forgets it.
void name_parameter(const c10::TensorImpl* tensor, uint32_t name);

void write_role(Thread& thread, trace::Role role, uint32_t name, const c10::TensorImpl& tensor,
                const c10::TensorImpl* parameter);

}  // namespace tapelens::capture
