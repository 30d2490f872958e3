// Copies of weights in another dtype that autocast keeps until its outermost region ends (cache_enabled=True).
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// Whether an operator cast a parameter implicitly, and the copy outlives the operator without a save.
bool is_cached_cast(const Context& context, const std::vector<bool>& parameters, AllocationId allocation);

// The statement that begins the autocast region around a call; none: not known.
EditLine autocast_line(const Context& context, StackId stack);

}  // namespace tapelens::check
