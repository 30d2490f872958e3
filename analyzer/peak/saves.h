// The tensors that autograd saved in the whole recording, released or not. The figures are comparable to those of
// torch.autograd.graph.saved_tensors_hooks.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::peak {

using namespace model;

struct SaveTotals {
  uint64_t count = 0;
  Bytes logical;  // elements times bytes of an element, of every save
  Bytes storage;  // the saved allocations, each counted once
};
struct FieldTotals {
  std::string field;  // "ConvolutionBackward0.input"
  SaveTotals totals;  // storage: each allocation counts once in every field that holds it
};
struct SaveSummary {
  SaveTotals all;
  uint64_t unattributed = 0;        // saves with an unknown node, and saves that were lost
  std::vector<FieldTotals> fields;  // the most storage first, then logical bytes, then by name
};

// Saves of wrapped numbers (Python scalars) do not count: PyTorch's hooks do not see them.
SaveSummary summarize_saves(const Process& process, const Text& text);

// Adds the saves of another process.
void add(SaveSummary& sum, const SaveSummary& more);

}  // namespace tapelens::peak
