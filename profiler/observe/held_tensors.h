// Tensors that the graph, or checkpointing, keeps where no SavedVariable has them: what a hook on saved tensors
// returned, what a custom function put on its ctx, what selective checkpointing keeps. None where there is no Python.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <vector>

#include "profiler/observe/named_tensors.h"

namespace tapelens::observe {

// In what the program's hook returned for a save that has_hooks(); without names.
std::vector<NamedTensor> packed_tensors(Thread& thread, const torch::autograd::SavedVariable& save);
// Of a node of a torch.autograd.Function, by attribute of its ctx.
std::vector<NamedTensor> context_tensors(Thread& thread, const torch::autograd::Node& node);
// What the modes that are active on this thread have kept since they were asked last, by the operator that made it.
std::vector<NamedTensor> checkpointed_tensors(Thread& thread);
bool has_modes();

}  // namespace tapelens::observe
