// The resident memory (RSS) of the process, for reports that compare it with the recorded CPU memory.
#pragma once

#include <atomic>

#include "profiler/record/thread_state.h"

namespace tapelens::record {

void begin_host_memory(ThreadState& thread);
// Records the peak if it has grown.
void note_host_memory(ThreadState& thread) noexcept;
// Called by an exit handler: records the peak of the whole process.
void finish_host_memory(ThreadState& thread);

extern std::atomic<uint64_t> g_next_host_memory;  // ticks
// The same, if some time has passed at `now` (ticks). Called when memory is allocated: a process that is killed has its
// last peak.
inline void host_memory_may_have_grown(ThreadState& thread, uint64_t now) {
  if (now >= g_next_host_memory.load(std::memory_order_relaxed)) [[unlikely]]
    note_host_memory(thread);
}

}  // namespace tapelens::record
