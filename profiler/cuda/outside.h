// External memory (`tapelens record --cupti`): records the driver's allocations as CUPTI reports them, and each
// device's usage from NVML.
//
// CUPTI serves one client at a time. If the program wants it (torch.profiler), the session ends before the program's
// call continues, and the recording notes the time from which on nothing is known. The functions with which clients
// begin have slots in the preload library. A client that finds them with dlsym gets CUPTI's error for a second client.
#pragma once

#include "profiler/record/thread_state.h"

namespace tapelens::cuda {

// Called once, before the program can use CUPTI. Returns whether it is requested at all.
bool watch_outside();
// Called outside of the allocator's locks, when the program has begun to use a device. Later calls have no effect.
void begin_outside(record::ThreadState& thread);
// The process, or its recording, ends.
void finish_outside();
// In usage.cpp: writes the usage of each device that has a context. No effect without NVML.
void write_device_usage(record::ThreadState& thread);

}  // namespace tapelens::cuda
