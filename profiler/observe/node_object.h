// The Python object of a node: for a custom function, its `ctx`.
#pragma once

#include <torch/csrc/autograd/function.h>

#include "profiler/cpython/python.h"

namespace tapelens::observe {

// Whether PyTorch's functionToPyObject exists. It is found by symbol, because the probe links no Python library.
bool has_node_objects();
// A new reference; null with a Python error set on failure. Requires has_node_objects() and the GIL.
cpython::PyObject* node_object(const torch::autograd::Node& node);

}  // namespace tapelens::observe
