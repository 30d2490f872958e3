// The Python code of a rewrite. It runs once, in separate unnamed globals, at the first chance to run Python after the
// import of torch.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <atomic>
#include <span>
#include <string_view>

#include "profiler/cpython/python.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

struct PythonPart {
  std::string_view id;
  Level level;
  const char* source;  // has a function install(), which returns None while torch is being imported
  std::span<cpython::PyMethodDef> functions;  // that it may call, never destroyed
  std::string_view without_python;            // why it is skipped in a program without an interpreter; or empty
  std::string_view not_installed;             // why it is skipped if the source or install() raises

  at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
  std::atomic<bool> done = false;
  std::atomic_flag is_installing = {};  // by a thread that may have released the GIL meanwhile
  cpython::PyObject* globals = nullptr;

  // `begins` calls attempt(), at each function of this scope until `done`.
  void bring_in(at::RecordScope scope, at::RecordFunctionCallback::StartCallback begins);
  void attempt();

 private:
  void finish(std::string_view reason_against = {});
  void install(const cpython::Python& api);
};

// In a catch block: raises the exception in Python; returns null.
cpython::PyObject* python_error() noexcept;
// Makes a function of a part callable from Python: a C++ exception becomes a Python exception, which the part catches.
template <cpython::PyObject* (*function)(cpython::PyObject*, cpython::PyObject*)>
cpython::PyObject* guarded(cpython::PyObject* self, cpython::PyObject* argument) noexcept {
  try {
    return function(self, argument);
  } catch (...) {
    return python_error();
  }
}

inline at::Tensor tensor_of(c10::TensorImpl* impl) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(impl));
}
// The tensor of a `_cdata`; undefined if Python raised an error.
at::Tensor tensor_of(cpython::PyObject* cdata);

// Return values for functions of a part: a new reference.
cpython::PyObject* python_none();
cpython::PyObject* python_text(const char* text);  // null: None

}  // namespace tapelens::rewrite
