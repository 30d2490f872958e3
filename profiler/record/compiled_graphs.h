// The saves of compiled functions, by the graphs that torch.compile made.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <cstdint>
#include <vector>

#include "profiler/observe/thread.h"

namespace tapelens::record {

struct NamedSave {
  uint32_t field = 0;  // string: "addmm (model.py:7 Net.forward) saved_tensors[10]"
  uint32_t stack = 0;  // stack of the program's line that computed it; 0: not known
};
struct CompiledGraph {
  std::vector<NamedSave> saves;      // passed to save_for_backward(), in order
  std::vector<NamedSave> unchecked;  // kept on the node's `ctx` beside them, in order
};

// The graph with this number; null: not reported. Never destroyed.
const CompiledGraph* compiled_graph(long number);

}  // namespace tapelens::record
