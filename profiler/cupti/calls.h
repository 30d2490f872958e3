// The CUDA functions whose calls are reported, and their effects on virtual memory.
#pragma once

#include <optional>

#include "profiler/cupti/session.h"

namespace tapelens::cupti {

// Enables the callbacks. On failure, those of virtual memory are unavailable; enabled callbacks end with the
// subscription. Other functions may be missing in a CUPTI version: the operators of their calls are then unknown.
Result enable_calls(const Functions& functions, Subscriber subscriber);
// The effect of a virtual memory function that succeeded, at its exit. None for host memory.
std::optional<VirtualMemory> virtual_memory(uint32_t function, const CallbackData& call);

}  // namespace tapelens::cupti
