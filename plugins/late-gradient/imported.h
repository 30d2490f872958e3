// Gradients of an imported recording that stay allocated while the next forward runs.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct SpentGradient {
  AllocationId gradient;
  AllocationId in_step;  // the last allocation of the last optimizer step in the gradient's life
  Time forward;          // the first allocation of a forward after `in_step`
};

// Gradients that are alive in a step and a later forward, and that are freed before the next backward allocates memory.
std::vector<SpentGradient> spent_gradients(const Context& context);

}  // namespace tapelens::check
