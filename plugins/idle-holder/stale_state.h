// Optimizer state that its optimizer no longer reads: the parameters were frozen, or get no gradients.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct StaleState {
  AllocationId allocation;
  Time last;       // end of the last read
  uint64_t steps;  // later steps of its optimizer without a read
};

// State alive at the peak, in order of roles.
std::vector<StaleState> stale_states(const Context& context);

}  // namespace tapelens::check
