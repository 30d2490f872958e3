// The Python object of a node: of a custom function its `ctx`.
#pragma once

#include <torch/csrc/autograd/function.h>

#include "profiler/cpython/python.h"

namespace tapelens::observe {

// PyTorch's own functionToPyObject, found by name, for the probe links nothing of Python. False: it is not there.
bool has_node_objects();
// A new reference; null with an error set where it fails. Only if has_node_objects() and with the GIL.
cpython::PyObject* node_object(const torch::autograd::Node& node);

}  // namespace tapelens::observe
