// See held_tensors.h. python_hooks.py decides which objects are searched: packed_in(), attributes_of(), kept_by_mode().
#include "profiler/observe/held_tensors.h"

#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "profiler/observe/node_object.h"

namespace tapelens::observe {

using namespace cpython;
using c10::impl::TorchDispatchModeTLS;

std::vector<NamedTensor> packed_tensors(Thread& thread, const torch::autograd::SavedVariable& save) {
  std::vector<NamedTensor> found;
  in_python(thread, [&](const Python& api) {
    try {
      const auto hook_and_data = save.retrieve_unpack_hook_data();
      if (!hook_and_data) return;
      const c10::SafePyObject& data = hook_and_data->second;
      ask(api, "packed_in", reinterpret_cast<PyObject*>(data.ptr(&data.pyinterpreter())), found);
    } catch (const c10::Error&) {  // a C++ hook, whose tensors are unknown
    }
  });
  return found;
}

std::vector<NamedTensor> context_tensors(Thread& thread, const torch::autograd::Node& node) {
  std::vector<NamedTensor> found;
  if (!has_node_objects()) return found;
  in_python(thread, [&](const Python& api) {
    const Owned context(api, node_object(node));
    if (!context) return api.ErrClear();
    ask(api, "attributes_of", context.get(), found);
  });
  return found;
}

bool has_modes() { return TorchDispatchModeTLS::stack_len() != 0; }

std::vector<NamedTensor> checkpointed_tensors(Thread& thread) {
  std::vector<NamedTensor> found;
  std::vector<std::shared_ptr<c10::impl::PyObject_TorchDispatchMode>> modes;
  for (int64_t i = 0; i < TorchDispatchModeTLS::stack_len(); ++i)
    modes.push_back(TorchDispatchModeTLS::get_stack_at(i));
  in_python(thread, [&](const Python& api) {
    for (const auto& mode : modes)
      ask(api, "kept_by_mode", reinterpret_cast<PyObject*>(mode->ptr(&mode->pyinterpreter())), found);
  });
  return found;
}

}  // namespace tapelens::observe
