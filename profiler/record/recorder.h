// The recording of this process, for the probe, which starts and ends it. In between, observe reports the events:
// observers.h.
#pragma once

#include "profiler/observe/thread.h"
#include "trace/recording_options.h"

namespace tapelens::record {

// The options of this process, which open() reads; before that, the defaults.
const trace::RecordingOptions& options();
// Creates the spool of this process if the environment requests it. False: nothing is recorded,
// and no other function here may be called.
bool open();
// Called before the first hook: records properties of the process, and starts the watch on allocations.
void begin(observe::Thread& thread);
// Called by an exit handler, before stop(). Records properties of the process that are known then.
void before_exit(observe::Thread& thread);
// The mode in which hooks start.
observe::Mode first_mode();
// Ends the recording; the spool is complete. Rewrites continue. Async-signal-safe.
void stop(std::optional<int> exit_code);
// The program marks the start of the part to analyze; only if is_recording().
void program_starts(observe::Thread& thread);
// Called before another program replaces this one, and after a failed exec.
void around_exec(bool begins);
void abandon_in_child();  // after fork

// The part of begin() that wraps LibTorch's allocator (allocations.cpp).
void watch_allocations(ThreadState& thread);
// Gives LibTorch its own allocators back, for later allocations. No effect if the program has registered others.
void unwatch_allocations();

}  // namespace tapelens::record
