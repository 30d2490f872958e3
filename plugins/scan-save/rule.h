// Tensors that torch's scan stacks although they are equal in every iteration.
#pragma once

#include "rewrites/catalog.h"

namespace tapelens::plugins::scan_save {

inline constexpr rewrites::RewriteInfo kRewrite{.id = "scan-save",
                                                .level = rewrites::Level::shared_forward,
                                                .title = "keep one copy of a tensor that a scan stacks unchanged"};

}  // namespace tapelens::plugins::scan_save
