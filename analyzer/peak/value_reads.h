// The places where the program read values that a simulated GPU did not compute. On a real GPU the program may take
// another branch there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/peak/analysis.h"
#include "analyzer/peak/frame_names.h"

namespace tapelens::peak {

struct ValueRead {
  std::string op;      // the operator that the program called: "aten::item"
  std::string source;  // "train.py:42 forward"; empty, and no frame, if it has no stack
  Frame frame;
  model::Time first;
  uint64_t count = 0;
};

// In the order of their first read.
std::vector<ValueRead> value_reads(const Analysis& analysis);

// One sentence, for the reads of one or several processes; empty without any.
std::string value_reads_text(const std::vector<ValueRead>& reads);

}  // namespace tapelens::peak
