// Functions that the Python part (python_hooks.py) calls to report events, and its functions that the probe calls.
#pragma once

#include <span>

#include "profiler/cpython/python.h"

namespace tapelens::observe {

// The functions that need no state of python_stack.cpp (frames and modules). Never destroyed.
std::span<cpython::PyMethodDef> python_functions();

// A new reference to None.
cpython::PyObject* give_none();

// A function of the Python part by name, as a borrowed reference; null before it exists. Requires the GIL.
cpython::PyObject* hook_function(const char* name);

}  // namespace tapelens::observe
