// What compiled functions save, by the graphs that the program's compiler made.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <cstdint>
#include <vector>

#include "profiler/observe/thread.h"

namespace tapelens::record {

struct NamedSave {
  uint32_t field = 0;  // string: "addmm (model.py:7 Net.forward) saved_tensors[10]"
  uint32_t stack = 0;  // of the line in the program that it was computed for; 0: not known
};
struct CompiledGraph {
  std::vector<NamedSave> saves;      // that save_for_backward() is given, in their order
  std::vector<NamedSave> unchecked;  // that are kept on the node's `ctx` beside them, likewise
};

// Of the graph with a number; null: nobody told of it. It lives for ever.
const CompiledGraph* compiled_graph(long number);

}  // namespace tapelens::record
