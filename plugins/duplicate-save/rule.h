// A copy of what is there needs no memory of its own.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::duplicate_save {

inline constexpr rewrites::RewriteInfo kRewrite{
    .id = "duplicate-save", .level = rewrites::Level::recomputed, .title = "a copy is made again of what is there"};

}  // namespace tapelens::plugins::duplicate_save
