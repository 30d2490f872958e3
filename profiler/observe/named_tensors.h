// Named tensors, which functions of python_hooks.py find unseen by the program's modes and by compilers.
#pragma once

#include <ATen/core/Tensor.h>

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

}  // namespace tapelens::observe
