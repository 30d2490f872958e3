// Copies of weights in another dtype that autocast keeps until its outermost region ends (cache_enabled=True).
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// Whether an operator cast a parameter for itself, and the copy outlives it although nothing saved it.
bool is_cached_cast(const Context& context, const std::vector<bool>& parameters, AllocationId allocation);

// The statement with the region of autocast that a call is in; none: it is not known.
EditLine autocast_line(const Context& context, StackId stack);

}  // namespace tapelens::check
