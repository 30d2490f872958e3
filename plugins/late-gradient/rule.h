// A gradient that is there may be used, and freed, before the backward ends.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::late_gradient {

inline constexpr rewrites::RewriteInfo kRewrite{.id = "late-gradient",
                                                .level = rewrites::Level::equivalent,
                                                .title = "each parameter is stepped when its gradient is there"};

}  // namespace tapelens::plugins::late_gradient
