// What the Python part (python_hooks.py) calls to tell of, and what of it the probe calls.
#pragma once

#include <span>

#include "profiler/cpython/python.h"

namespace tapelens::observe {

// Those that need nothing of the frames and modules that python_stack.cpp follows. They live for ever.
std::span<cpython::PyMethodDef> python_functions();

// A new reference to None.
cpython::PyObject* give_none();

// A function of the Python part by its name, borrowed; null as long as it is not there. The interpreter's lock is held.
cpython::PyObject* hook_function(const char* name);

}  // namespace tapelens::observe
