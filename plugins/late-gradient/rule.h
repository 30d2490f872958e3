// The optimizer may use and free a complete gradient before the backward ends.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::late_gradient {

inline constexpr policy::RewriteInfo kRewrite{.id = "late-gradient",
                                              .level = policy::Level::equivalent,
                                              .title = "each parameter is stepped when its gradient is there",
                                              .unit = "gradient"};

}  // namespace tapelens::plugins::late_gradient
