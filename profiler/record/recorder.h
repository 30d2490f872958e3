// The recording of this process, for the probe that starts and ends it. What is recorded in between observe says:
// observers.h.
#pragma once

#include "profiler/observe/thread.h"

namespace tapelens::record {

// Makes the spool of this process where the environment asks for one, and reads what of the program is wanted. False:
// nothing is recorded, and nothing else here may be called.
bool open();
// Before the first hook: what is known of the process, and the watch on its allocations.
void begin(observe::Thread& thread);
// What hooks do at first.
observe::Mode first_mode();
// Nothing is recorded after this; the spool is whole. Rewrites go on. Async-signal-safe.
void stop(std::optional<int> exit_code);
// The program says that what it wants recorded begins: where is_recording().
void program_starts(observe::Thread& thread);
// Another program takes the place of this one, or that failed.
void around_exec(bool begins);
void abandon_in_child();  // after fork

// The part of begin() that puts an allocator before LibTorch's own (allocations.cpp).
void watch_allocations(ThreadState& thread);

}  // namespace tapelens::record
