// See python_part.h.
#include "profiler/rewrite/python_part.h"

#include "profiler/observe/as_python.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/host.h"

namespace tapelens::rewrite {

using cpython::Gil;
using cpython::Owned;
using cpython::PyMethodDef;
using cpython::PyObject;
using cpython::Python;

void PythonPart::bring_in(at::RecordScope scope, at::RecordFunctionCallback::StartCallback begins) {
  callback = at::addGlobalCallback(at::RecordFunctionCallback(begins).scopes({scope}));
}

void PythonPart::attempt() {
  if (done) return;
  const bool went_well = rewrite::attempt({id, level}, [&] {
    const Python* api = cpython::python();
    if (api == nullptr) {
      finish(without_python);
    } else if (cpython::python_may_run(*api)) {
      const Quiet quiet;
      const Gil gil(*api);
      const observe::AsPython as_python;
      if (api->ErrOccurred() != nullptr || is_installing.test_and_set()) return;
      if (!done) install(*api);  // else another thread did
      is_installing.clear();
    }
  });
  if (!went_well) done = true;
}

void PythonPart::finish(std::string_view reason_against) {
  if (done.exchange(true)) return;
  if (!reason_against.empty()) skipped(id, level, {}, reason_against, 0);
  at::removeCallback(callback);
}

void PythonPart::install(const Python& api) {
  if (globals == nullptr) {
    globals = api.NewDict();
    api.SetItemString(globals, "__builtins__", api.GetBuiltins());
    static PyMethodDef is_of_handler = cpython::kIsOfHandler;
    const auto offer = [&](PyMethodDef& function) {
      api.SetItemString(globals, function.name, api.NewFunction(&function, nullptr, nullptr));
    };
    offer(is_of_handler);
    for (PyMethodDef& function : functions) offer(function);
    if (!Owned(api, api.RunString(source, cpython::kFileInput, globals, globals))) {
      if (cpython::forget_error(api)) return finish(not_installed);
      globals = nullptr;
      return;
    }
  }
  const Owned installed(api, api.CallOneArg(api.GetItemString(globals, "install"), nullptr, nullptr));
  if (!installed) {
    if (cpython::forget_error(api)) finish(not_installed);
  } else if (installed.get() != api.none) {
    finish();
  }
}

PyObject* python_error() noexcept {
  const Python& api = *cpython::python();
  try {
    api.ErrSetString(api.runtime_error, thrown_text().c_str());
  } catch (...) {
    api.ErrSetString(api.runtime_error, "no memory");
  }
  return nullptr;
}

at::Tensor tensor_of(PyObject* cdata) {
  auto* impl = static_cast<c10::TensorImpl*>(cpython::python()->AsVoidPtr(cdata));
  return impl == nullptr ? at::Tensor() : tensor_of(impl);
}

PyObject* python_none() {
  const Python& api = *cpython::python();
  api.IncRef(api.none);
  return api.none;
}

PyObject* python_text(const char* text) {
  return text != nullptr ? cpython::python()->FromString(text) : python_none();
}

}  // namespace tapelens::rewrite
