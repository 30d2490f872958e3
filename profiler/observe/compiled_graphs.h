// Functions that torch.compile made: the tensors that each of them saves, by AOTAutograd's graph of it.
#pragma once

#include <optional>
#include <vector>

#include "profiler/cpython/python.h"
#include "profiler/observe/named_tensors.h"

namespace tapelens::observe {

struct CompiledCall {
  long graph;                          // its number in record::graph_told()
  std::vector<NamedTensor> unchecked;  // without names; kept on the node's `ctx`, beside its saves
};
// The call of a node of such a function, when its forward has ended; none for any other node.
std::optional<CompiledCall> compiled_call(Thread& thread, const torch::autograd::Node& node);

// For compiled_graphs.py: tapelens_graph(number, saves, unchecked, field, file, function, line, ...) and
// tapelens_traced((function, hook)). The latter returns a function that does the same as `function`, adds no frame, and
// first calls the hook whenever it gets a graph.
cpython::PyObject* tell_graph(cpython::PyObject*, cpython::PyObject* arguments);
cpython::PyObject* make_traced(cpython::PyObject*, cpython::PyObject* pair);

}  // namespace tapelens::observe
