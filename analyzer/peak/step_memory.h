// The memory of each step on one device.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/peak/analysis.h"

namespace tapelens::peak {

struct StepMemory {
  uint32_t index = 0;
  model::Time begin, end;
  model::Bytes begin_live;  // live bytes at its begin
  model::Bytes peak;
  uint64_t allocations = 0;
  model::Bytes allocated;
  uint64_t backward_allocations = 0;
  bool complete = true;  // false: the part after the last step, or the whole run if it has no optimizer
};

std::vector<StepMemory> step_memory(const Analysis& analysis, const Timeline& timeline);

}  // namespace tapelens::peak
