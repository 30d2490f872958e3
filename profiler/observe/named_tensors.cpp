#include "profiler/observe/named_tensors.h"

#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <dlfcn.h>

#include <type_traits>
#include <utility>

#include "profiler/observe/python_functions.h"

namespace tapelens::observe {

using namespace cpython;
using c10::impl::TorchDispatchModeTLS;
using torch::autograd::Node;

namespace {

// The PyTorch version decides whether nodes are counted by intrusive or by shared pointers.
using NodeHandle = decltype(std::declval<Node&>().getptr());
using NodeObject = PyObject* (*)(const NodeHandle&);

NodeObject function_to_object() {
  static const auto found = []() -> NodeObject {
    void* library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    constexpr bool kIsShared = std::is_same_v<NodeHandle, std::shared_ptr<Node>>;
    return reinterpret_cast<NodeObject>(dlsym(
        library, kIsShared ? "_ZN5torch8autograd18functionToPyObjectERKSt10shared_ptrINS0_4NodeEE"
                           : "_ZN5torch8autograd18functionToPyObjectERKN3c1013intrusive_ptrINS0_4NodeENS1_6detail34"
                             "intrusive_target_default_null_typeIS3_EEEE"));
  }();
  return found;
}

using WrapFunction = PyObject* (*)(const at::TensorBase&);

// THPVariable_Wrap: returns the Python object of a tensor.
WrapFunction wrap_function() {
  static const auto found = [] {
    void* library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr
               ? nullptr
               : reinterpret_cast<WrapFunction>(dlsym(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE"));
  }();
  return found;
}

}  // namespace

bool has_fake_tensors() { return TorchDispatchModeTLS::get_mode(c10::impl::TorchDispatchModeKey::FAKE).has_value(); }

const Python* python_to_ask() {
  const Python* api = python();
  if (api == nullptr || !python_may_run(*api)) return nullptr;
  return has_fake_tensors() ? nullptr : api;
}

void ask(const Python& api, const char* function, PyObject* argument, std::vector<NamedTensor>& found) {
  const Owned parts(api, api.CallOneArg(hook_function(function), argument, nullptr));
  if (!parts) {
    forget_error(api);
    return;
  }
  // (count, name, tensor, its _cdata, name, ...)
  const long count = api.AsLong(api.GetTupleItem(parts.get(), 0));
  for (long i = 0; i < count; ++i) {
    const char* name = api.AsUTF8(api.GetTupleItem(parts.get(), 3 * i + 1));
    auto* impl = static_cast<c10::TensorImpl*>(api.AsVoidPtr(api.GetTupleItem(parts.get(), 3 * i + 3)));
    if (name == nullptr || impl == nullptr) return api.ErrClear();
    using Counted = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    found.push_back({name, at::Tensor(Counted::reclaim_copy(impl))});
  }
}

bool has_node_objects() { return function_to_object() != nullptr; }

PyObject* node_object(const Node& node) { return function_to_object()(const_cast<Node&>(node).getptr()); }

// python_hooks.py decides which objects are searched: packed_in(), attributes_of(), kept_by_mode(), flattened().
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

std::vector<NamedTensor> inner_tensors(Thread& thread, const at::Tensor& tensor) {
  std::vector<NamedTensor> found;
  if (wrap_function() == nullptr) return found;
  in_python(thread, [&](const Python& api) {
    const Owned object(api, wrap_function()(tensor));
    if (!object) return api.ErrClear();
    ask(api, "flattened", object.get(), found);
  });
  return found;
}

}  // namespace tapelens::observe
