// A concatenation of a single tensor is that tensor.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::trivial_concat {

inline constexpr rewrites::RewriteInfo kRewrite{.id = "trivial-concat",
                                                .level = rewrites::Level::shared_forward,
                                                .title = "a concatenation of one tensor shares it"};

}  // namespace tapelens::plugins::trivial_concat
