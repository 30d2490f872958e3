// Tensors that torch's scan stacks although they are equal in every iteration.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::scan_save {

inline constexpr policy::RewriteInfo kRewrite{.id = "scan-save",
                                              .level = policy::Level::shared_forward,
                                              .title = "keep one copy of a tensor that a scan stacks unchanged"};

}  // namespace tapelens::plugins::scan_save
