// The optimizer may use and free a complete gradient before the backward ends.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::late_gradient {

inline constexpr rewrites::RewriteInfo kRewrite{.id = "late-gradient",
                                                .level = rewrites::Level::equivalent,
                                                .title = "each parameter is stepped when its gradient is there"};

}  // namespace tapelens::plugins::late_gradient
