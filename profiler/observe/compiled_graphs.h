// Functions that torch.compile made: which tensors each saves, by the graph that AOTAutograd made of it.
#pragma once

#include <optional>
#include <vector>

#include "profiler/cpython/python.h"
#include "profiler/observe/named_tensors.h"

namespace tapelens::observe {

struct CompiledCall {
  long graph;                          // its number, as record::graph_told() was given it
  std::vector<NamedTensor> unchecked;  // without names; kept on the node's `ctx`, beside its saves
};
// Of a node of such a function, when its forward has ended; none of any other node.
std::optional<CompiledCall> compiled_call(Thread& thread, const torch::autograd::Node& node);

// For compiled_graphs.py: tapelens_graph(number, saves, unchecked, field, file, function, line, ...) and
// tapelens_traced((function, hook)), which answers a function that does what `function` does, without a frame of its
// own, and calls the hook before where it is given a graph.
cpython::PyObject* tell_graph(cpython::PyObject*, cpython::PyObject* arguments);
cpython::PyObject* make_traced(cpython::PyObject*, cpython::PyObject* pair);

}  // namespace tapelens::observe
