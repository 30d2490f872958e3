// The Python of a rewrite. It is run once, in globals of its own that have no name, when Python may be run first after
// torch was imported.
#pragma once

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
  const char* source;  // has a function install(), which returns None as long as torch is being imported
  std::span<cpython::PyMethodDef> functions;  // that it may call, never destroyed
  std::string_view without_python;            // why it is left out of a program without an interpreter; or empty
  std::string_view not_installed;             // and where the source or install() raises

  at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
  std::atomic<bool> done = false;
  std::atomic_flag is_installing = {};  // by a thread that may have given the interpreter's lock away meanwhile
  cpython::PyObject* globals = nullptr;

  // `begins` calls attempt(), at each function of this scope until it is done.
  void bring_in(at::RecordScope scope, at::RecordFunctionCallback::StartCallback begins);
  void attempt();

 private:
  void finish(std::string_view reason_against = {});
  void install(const cpython::Python& api);
};

// In a catch block: raises what was thrown; null.
cpython::PyObject* python_error() noexcept;
// A function of a part as Python may call it: what it throws becomes an exception of Python, which the part catches.
template <cpython::PyObject* (*function)(cpython::PyObject*, cpython::PyObject*)>
cpython::PyObject* guarded(cpython::PyObject* self, cpython::PyObject* argument) noexcept {
  try {
    return function(self, argument);
  } catch (...) {
    return python_error();
  }
}

// What functions of a part return: a new reference.
cpython::PyObject* python_none();
cpython::PyObject* python_text(const char* text);  // null: None

}  // namespace tapelens::rewrite
