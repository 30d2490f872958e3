// See inner_tensors.h. Python does the walk (python_hooks.py, flattened()).
#include "profiler/observe/inner_tensors.h"

#include <dlfcn.h>

namespace tapelens::observe {

using namespace cpython;

namespace {

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
