// What cheap operators made can be recomputed: which and when is rewrites/recompute's to say.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::recomputable_save {

inline constexpr rewrites::RewriteInfo kRewrite{.id = "recomputable-save",
                                                .level = rewrites::Level::recomputed,
                                                .title = "what cheap operators made is recomputed"};

}  // namespace tapelens::plugins::recomputable_save
