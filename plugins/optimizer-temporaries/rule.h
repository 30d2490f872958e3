// A foreach step of an optimizer, in parts.
#pragma once

#include <cstdint>

#include "policy/catalog.h"

namespace tapelens::plugins::optimizer_temporaries {

inline constexpr policy::RewriteInfo kRewrite{.id = "optimizer-temporaries",
                                              .level = policy::Level::recomputed,
                                              .title = "a foreach step of an optimizer runs in parts",
                                              .unit = "optimizer step"};

// A part has at least so many times the bytes that a rewrite must replace: 64 MiB by default. Smaller parts save little
// next to a large parameter, and a foreach kernel for float32 has about so many bytes anyway.
inline constexpr int64_t kPartInLeastBytes = 1024;

}  // namespace tapelens::plugins::optimizer_temporaries
