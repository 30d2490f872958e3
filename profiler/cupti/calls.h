// The functions of CUDA whose calls are told of, and what they say of virtual memory.
#pragma once

#include <optional>

#include "profiler/cupti/session.h"

namespace tapelens::cupti {

// Asks for callbacks. Not success: those of virtual memory cannot be had; what was asked for ends with the
// subscription. Others that a version does not have are left out: of these calls no operator is known.
Result enable_calls(const Functions& functions, Subscriber subscriber);
// At the exit of a function of virtual memory that succeeded: what it did. None of memory of the host.
std::optional<VirtualMemory> virtual_memory(uint32_t function, const CallbackData& call);

}  // namespace tapelens::cupti
