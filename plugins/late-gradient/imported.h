// Gradients of an imported recording that stay allocated while the next forward runs.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct SpentGradient {
  AllocationId gradient;
  AllocationId in_step;  // the last allocation of the optimizer step that had it
  Time forward;          // the first allocation of a forward after that
};

// A step was the last to have each of them: it is freed before anything else is allocated in a backward.
std::vector<SpentGradient> spent_gradients(const Context& context);

}  // namespace tapelens::check
