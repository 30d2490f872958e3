// Tensors with a name each, found by a function of python_hooks.py that no mode of the program and no compiler sees.
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

// Are operators of the calling thread run on fake tensors, which have no memory: a compiler traces.
bool has_fake_tensors();

// Not while a compiler traces.
const cpython::Python* python_to_ask();

// Calls use(api), which may ask(), if Python can be run here.
template <class Use>
void in_python(Thread& thread, Use use) {
  const cpython::Python* api = python_to_ask();
  if (api == nullptr) return;
  const cpython::Gil gil(*api);
  if (hook_function("answer") == nullptr || api->ErrOccurred() != nullptr) return;
  const Unseen unseen(*api, thread);
  use(*api);
}

// Adds what `function` answers of `argument`: answer() in python_hooks.py. Nothing if it raises, as classes of the
// program's own may.
void ask(const cpython::Python& api, const char* function, cpython::PyObject* argument,
         std::vector<NamedTensor>& found);

}  // namespace tapelens::observe
