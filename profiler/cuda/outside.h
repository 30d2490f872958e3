// Memory outside of PyTorch's allocator (`tapelens record --cupti`): what CUPTI tells of the driver's, into the
// recording, and how much of each device is in use, as NVML says.
//
// CUPTI is one client's at a time. Whoever of the program wants it (torch.profiler) gets it: the session ends before
// their call goes on, and the recording has from when on nothing is known. The functions with which they begin are
// behind slots of the preload library; a client that finds them with dlsym is told by CUPTI that another has it.
#pragma once

#include "profiler/record/thread_state.h"

namespace tapelens::cuda {

// Once, before the program can use CUPTI. Whether it is wanted at all.
bool watch_outside();
// Outside of the allocator's locks, when the program has begun to use a device; does nothing more than once.
void begin_outside(record::ThreadState& thread);
// The process ends, or its recording.
void finish_outside();
// usage.cpp: of each device that has a context. Nothing where there is no NVML.
void write_device_usage(record::ThreadState& thread);

}  // namespace tapelens::cuda
