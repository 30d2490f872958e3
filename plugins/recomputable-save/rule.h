// The results of cheap operators can be recomputed. rewrites/recompute decides which results and when.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::recomputable_save {

inline constexpr rewrites::RewriteInfo kRewrite{
    .id = "recomputable-save", .level = rewrites::Level::recomputed, .title = "recompute results of cheap operators"};

}  // namespace tapelens::plugins::recomputable_save
