// Tensors of which a constant and a small tensor define every element, such as the attention mask of each head.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/content.h"

namespace tapelens::check::expanded {

struct Filled {
  AllocationId allocation;
  AllocationId constant;  // the input of the same size; none: the operator changed it in place
  AllocationId pattern;   // the small input
  Bytes distinct;         // at most so many bytes are different
};

// In the order of time. A tensor counts if it is `ratio` times larger than its different elements.
std::vector<Filled> find_filled(const Context& context, const Contents& contents, Bytes least, int64_t ratio);

}  // namespace tapelens::check::expanded
