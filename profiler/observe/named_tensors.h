// Named tensors, which functions of python_hooks.py find unseen by the program's modes and by compilers: tensors that
// the graph or checkpointing keeps, and the tensors in wrapper subclasses.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <string>
#include <utility>
#include <vector>

#include "profiler/cpython/python.h"
#include "profiler/observe/thread.h"
#include "profiler/observe/unseen.h"

namespace tapelens::observe {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Whether operators of the calling thread run on fake tensors, which have no memory: a compiler traces.
bool has_fake_tensors();

// Null while a compiler traces.
const cpython::Python* python_to_ask();

// Calls use(api), which may call ask(), if Python can run here.
template <class Use>
void in_python(Thread& thread, Use use) {
  const cpython::Python* api = python_to_ask();
  if (api == nullptr) return;
  const cpython::Gil gil(*api);
  if (hook_function("answer") == nullptr || api->ErrOccurred() != nullptr) return;
  const Unseen unseen(*api, thread);
  use(*api);
}

// Adds the tensors that `function` returns for `argument`: answer() in python_hooks.py. Adds none if it raises, as
// classes of the program may.
void ask(const cpython::Python& api, const char* function, cpython::PyObject* argument,
         std::vector<NamedTensor>& found);

// Tensors that the graph, or checkpointing, keeps outside of SavedVariables: results of saved-tensor hooks, tensors on
// the ctx of a custom function, tensors that selective checkpointing keeps. Empty without Python.
//
// The tensors in the value that the program's hook returned for a save with has_hooks(); without names.
std::vector<NamedTensor> packed_tensors(Thread& thread, const torch::autograd::SavedVariable& save);
// The tensors of a torch.autograd.Function's node, by attribute of its ctx.
std::vector<NamedTensor> context_tensors(Thread& thread, const torch::autograd::Node& node);
// The tensors that this thread's active modes have kept since the last call, by the operator that made them.
std::vector<NamedTensor> checkpointed_tensors(Thread& thread);
bool has_modes();

// The ordinary tensors that a wrapper subclass consists of and that own its memory. Wrapper subclasses are DTensor,
// jagged nested tensors, quantized tensors and any other class with __tensor_flatten__.
//
// Whether the tensor may be a wrapper. One bit of a tensor excludes plain tensors.
inline bool may_be_wrapper(const c10::TensorImpl& tensor) { return tensor.is_python_dispatch(); }

// The inner tensors by path: "._local_tensor"; "._values._local_tensor" for a wrapper in a wrapper. Empty if the class
// is not a wrapper, if its __tensor_flatten__ fails, or while a compiler traces. Runs the class's own
// __tensor_flatten__. Requires may_be_wrapper().
std::vector<NamedTensor> inner_tensors(Thread& thread, const at::Tensor& tensor);

// Whether PyTorch's functionToPyObject exists. It is found by symbol, because the probe links no Python library.
bool has_node_objects();
// The Python object of a node: for a custom function, its `ctx`. A new reference; null with a Python error set on
// failure. Requires has_node_objects() and the GIL.
cpython::PyObject* node_object(const torch::autograd::Node& node);

}  // namespace tapelens::observe
