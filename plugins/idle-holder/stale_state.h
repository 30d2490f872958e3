// Optimizer state that its optimizer does not read any more: of parameters that were frozen, or left without gradients.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct StaleState {
  AllocationId allocation;
  Time last;       // read
  uint64_t steps;  // of its optimizer that went by without it
};

// Alive at the peak, in the order of roles.
std::vector<StaleState> stale_states(const Context& context);

}  // namespace tapelens::check
