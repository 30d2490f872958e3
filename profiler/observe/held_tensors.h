// Tensors that the graph, or checkpointing, keeps outside of SavedVariables: results of saved-tensor hooks, tensors on
// the ctx of a custom function, tensors that selective checkpointing keeps. Empty without Python.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <vector>

#include "profiler/observe/named_tensors.h"

namespace tapelens::observe {

// The tensors in the value that the program's hook returned for a save with has_hooks(); without names.
std::vector<NamedTensor> packed_tensors(Thread& thread, const torch::autograd::SavedVariable& save);
// The tensors of a torch.autograd.Function's node, by attribute of its ctx.
std::vector<NamedTensor> context_tensors(Thread& thread, const torch::autograd::Node& node);
// The tensors that this thread's active modes have kept since the last call, by the operator that made them.
std::vector<NamedTensor> checkpointed_tensors(Thread& thread);
bool has_modes();

}  // namespace tapelens::observe
