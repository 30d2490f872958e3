// Calls of scaled_dot_product_attention that took its math kernel, and why.
#pragma once

#include <string>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check::attention {

struct MathCall {
  OperatorId op;                      // aten::_scaled_dot_product_attention_math
  std::vector<AllocationId> tensors;  // that only the math kernel makes, those of its backward too; in order of time
  AllocationId largest;               // of its forward
  // The end of its backward; none: it has no backward.
  Time backward{};
  // That a fused kernel keeps until the end of the backward: query, key, value and output.
  std::vector<AllocationId> kept;
  // A copy of the output in the order in which a fused kernel writes it, and the output.
  std::vector<peak::WhatIf::Alias> copies;
  Bytes rows;  // a float for each row of scores, which a fused kernel saves
};

// In the order of time.
std::vector<MathCall> math_calls(const Context& context);

// The recorded reason that no fused kernel took the call, and the text of the fix.
struct MathReason {
  std::string why, fix;
};
MathReason cause_of(const Context& context, OperatorId op, bool has_backward);

}  // namespace tapelens::check::attention
