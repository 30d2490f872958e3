// Differences between the supported minor versions of LibTorch that its headers do not express (by decltype of the
// hooked function). Each difference has one name; no other code checks the version.
#pragma once

#include <torch/version.h>

namespace tapelens::observe {

constexpr bool torch_is_at_least(int major, int minor) {
  return TORCH_VERSION_MAJOR > major || (TORCH_VERSION_MAJOR == major && TORCH_VERSION_MINOR >= minor);
}

// The error about a tensor that was modified after it was saved names "Relu" instead of "ReluBackward0".
inline constexpr bool kVersionErrorNamesOperators = torch_is_at_least(2, 15);
// The gradient of clamp passes if the input equals one of the bounds.
inline constexpr bool kClampPassesAtBounds = !torch_is_at_least(2, 15);

// HostAllocator has a history, with virtual functions that older versions do not have: for #if.
#define TAPELENS_HOST_ALLOCATOR_HAS_HISTORY (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 15)

}  // namespace tapelens::observe
