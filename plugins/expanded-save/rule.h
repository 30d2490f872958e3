// A broadcast matmul without the copies that repeat one side for the other.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::expanded_save {

inline constexpr policy::RewriteInfo kRewrite{.id = "expanded-save",
                                              .level = policy::Level::equivalent,
                                              .title = "a broadcast matmul as one bmm",
                                              .reorders_sums = true};

}  // namespace tapelens::plugins::expanded_save
