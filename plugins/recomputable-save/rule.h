// The results of cheap operators can be recomputed. policy/recompute decides which results and when.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::recomputable_save {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "recomputable-save", .level = policy::Level::recomputed, .title = "recompute results of cheap operators"};

}  // namespace tapelens::plugins::recomputable_save
