// A foreach step of an optimizer, in parts.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::optimizer_temporaries {

inline constexpr policy::RewriteInfo kRewrite{.id = "optimizer-temporaries",
                                              .level = policy::Level::recomputed,
                                              .title = "a foreach step of an optimizer runs in parts",
                                              .unit = "optimizer step"};

}  // namespace tapelens::plugins::optimizer_temporaries
