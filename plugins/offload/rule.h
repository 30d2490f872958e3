// Saves on a GPU can wait for the backward in the memory of the host.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::offload {

inline constexpr policy::RewriteInfo kRewrite{
    .id = policy::kOffload, .level = policy::Level::offloaded, .title = "saves of a GPU in the memory of the host"};

}  // namespace tapelens::plugins::offload
