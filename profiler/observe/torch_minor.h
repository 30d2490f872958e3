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

// It has pools of memory, in the same way.
#define TAPELENS_HOST_ALLOCATOR_HAS_POOLS (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11)
// SavedVariable::get_raw_data() exists.
#define TAPELENS_SAVES_GIVE_RAW_DATA (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10)
// A device's interface gives the native handle of a stream.
#define TAPELENS_GUARDS_GIVE_NATIVE_STREAMS (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11)
// The precision of float32 products is set for each backend and operator: by enumerators since 2.10, by strings in 2.9.
#define TAPELENS_FLOAT32_PRECISION_HAS_BACKENDS (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9)
#define TAPELENS_FLOAT32_PRECISION_HAS_TYPES (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10)
// OperatorHandle::getComputedKernelForDispatchKey() exists.
#define TAPELENS_OPERATORS_GIVE_KERNELS (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9)
// The types of the CUDA allocator's events and snapshots are in c10/core, not in c10/cuda, and a snapshot can leave out
// the events: for #if.
#define TAPELENS_CUDA_EVENTS_ARE_IN_CORE (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11)

}  // namespace tapelens::observe
