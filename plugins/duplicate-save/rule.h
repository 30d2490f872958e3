// A copy of a live tensor needs no extra memory.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::duplicate_save {

inline constexpr rewrites::RewriteInfo kRewrite{
    .id = "duplicate-save", .level = rewrites::Level::recomputed, .title = "a copy is recomputed from its source"};

}  // namespace tapelens::plugins::duplicate_save
