// A concatenation of a single tensor is that tensor.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::trivial_concat {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "trivial-concat", .level = policy::Level::shared_forward, .title = "a concatenation of one tensor shares it"};

}  // namespace tapelens::plugins::trivial_concat
