// The executable files in the address space, which program counters are looked up in when a spool is sealed.
#pragma once

#include "profiler/record/thread_state.h"

namespace tapelens::record {

// Writes them anew when libraries were loaded since the last time.
void follow_mappings(ThreadState& thread);

}  // namespace tapelens::record
