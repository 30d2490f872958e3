// What differs between the supported minors of LibTorch beyond what the headers say themselves (decltype of what is
// hooked): one name for each difference, and the only place that asks for the version.
#pragma once

#include <torch/version.h>

namespace tapelens::observe {

constexpr bool torch_is_at_least(int major, int minor) {
  return TORCH_VERSION_MAJOR > major || (TORCH_VERSION_MAJOR == major && TORCH_VERSION_MINOR >= minor);
}

// The error about a tensor that was changed after it was saved says "Relu" where it was "ReluBackward0" before.
inline constexpr bool kVersionErrorNamesOperators = torch_is_at_least(2, 15);
// The gradient of clamp passes where the input is one of the bounds.
inline constexpr bool kClampPassesAtBounds = !torch_is_at_least(2, 15);

// HostAllocator has a history of its own, virtual functions that the one before does not have: for #if.
#define TAPELENS_HOST_ALLOCATOR_HAS_HISTORY (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 15)

}  // namespace tapelens::observe
