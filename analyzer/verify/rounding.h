// Some rewrites add the same numbers in another order. This compares their effect with the rounding of the program
// itself.
#pragma once

#include <string>

#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// Compares the first step's gradients of two runs of the same program (Run::values); those of the bare run also have
// float64 values. Rounding::unknown has the reason if a file is unreadable or the gradients do not match.
Rounding compare_values(const std::string& bare, const std::string& rewritten);

}  // namespace tapelens::verify
