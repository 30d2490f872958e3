// Some rewrites add the same numbers in another order: how far that is from what the program itself rounds.
#pragma once

#include <string>

#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// The gradients of the first step as two runs of the same program left them (Run::values), those of the bare one
// followed in float64. Where a file cannot be read, or they have different gradients, Rounding::unknown says so.
Rounding compare_values(const std::string& bare, const std::string& rewritten);

}  // namespace tapelens::verify
