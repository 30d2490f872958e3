// The CUDA functions whose calls are reported, their effects on virtual memory, and the library that called one.
#pragma once

#include <optional>
#include <string_view>

#include "profiler/cupti/session.h"

namespace tapelens::cupti {

// Enables the callbacks. On failure, those of virtual memory are unavailable; enabled callbacks end with the
// subscription. Other functions may be missing in a CUPTI version: the operators of their calls are then unknown.
Result enable_calls(const Functions& functions, Subscriber subscriber);
// The effect of a virtual memory function that succeeded, at its exit. None for host memory.
std::optional<VirtualMemory> virtual_memory(uint32_t function, const CallbackData& call);

// Called once without locks: checks whether a lookup without a lock is possible.
void prepare_caller();
// In a CUPTI callback: the path of the innermost library on this thread's stack outside of CUDA's own. Empty if not
// known. Before glibc 2.35 an address lookup needs the dynamic loader's lock, whose holder may wait for a lock of the
// program that this thread holds. Some CUDA libraries cannot be unwound. The loader owns the text while the library is
// loaded.
std::string_view calling_library();

}  // namespace tapelens::cupti
