// The executable files in the address space, for the symbolization of program counters when a spool is sealed.
#pragma once

#include "profiler/record/thread_state.h"

namespace tapelens::record {

// Writes them again if libraries were loaded since the last call.
void follow_mappings(ThreadState& thread);

}  // namespace tapelens::record
