// A copy of a live tensor needs no extra memory.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::duplicate_save {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "duplicate-save", .level = policy::Level::recomputed, .title = "a copy is recomputed from its source"};

}  // namespace tapelens::plugins::duplicate_save
