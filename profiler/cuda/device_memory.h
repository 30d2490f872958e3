// Records the allocations, frees, reservations and failures of PyTorch's allocators for devices other than the CPU.
//
// Each call has two sources of events, in this order, on the calling thread, under the allocator's lock of that device:
//   the trace tracker (only PyTorch's CUDA allocator): requested bytes, stream, pool, segments, completion of frees;
//   c10::reportMemoryUsageToProfiler: bytes of the block, and its device.
// The event of the first waits in the thread's state until the second arrives and writes the record. Allocators of
// other devices have only the second; CUDA allocators other than PyTorch's have neither.
//
// Lock order: under the device's lock, this code takes no lock that is ever held around it, in particular not the GIL.
// It takes the locks of the device names (record/storage.h), of the interned texts and of the spool's growth, which are
// never held around the allocator's. It calls LibTorch there in two places. attach() takes snapshots of the allocator
// under a device's lock, once. At the first segment of a device (at each, with garbage collection) it reads the
// process's share of the device. The allocator's locks are recursive, and no thread waits for one of them while it
// holds another.
//
// The watch of a GPU begins under its lock, with a snapshot: the snapshot has the earlier events, and later events are
// recorded. If another thread allocates on another GPU at that time, only the snapshot records the allocation. A thread
// that begins an operator waits until the watch has begun, so that no operator allocates unseen.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "profiler/record/thread_state.h"

namespace tapelens::cuda {

// Called once, before the recording of the process begins.
void watch_device_memory();
// Called by an exit handler at the end of the process: writes pending events.
void finish_device_memory();

// True from watch_device_memory() until attach() is done: operators on a device wait for it.
extern std::atomic<bool> g_is_unwatched;

// In caching_allocator.cpp. Whether attach() can find the allocators to watch: false until the program begins to use a
// device. Called at operators until then, so it has no side effects.
bool can_attach();
// Called once. `reported`: the block whose allocation is being reported and which the tracker did not see; receives its
// requested bytes. Or null.
struct Reported {
  uint64_t address = 0;
  uint64_t requested = 0;  // 0: not known
};
void attach(record::ThreadState& thread, Reported* reported);
// Whether a reported event of that device must be written, because no snapshot will include it. Under the device's
// lock.
bool is_watched(c10::Device device);

// The tracker's events, as inputs of reports.cpp.
void allocation_traced(uint64_t address, uint64_t requested, uint64_t stream, trace::PoolNumbers pool);
void free_requested(uint64_t address);
void free_completed(uint64_t address, c10::Device device);
void segment_changed(trace::SegmentChange change, c10::Device device, uint64_t address, uint64_t bytes, uint64_t stream,
                     trace::PoolNumbers pool);
void out_of_memory_traced(uint64_t device_free);
// Writes a named property of a device to the recording.
void note(const std::string& key, uint64_t bytes);

// A block that is older than the tracker.
struct OlderBlock {
  uint64_t address, requested, rounded, stream;
  trace::PoolNumbers pool;
  bool waits;  // the program has freed it
};
void older_block(record::ThreadState& thread, const OlderBlock& block, c10::Device device);

// External memory (`tapelens record --cupti`): records the driver's allocations as CUPTI reports them, and each
// device's usage from NVML.
//
// CUPTI serves one client at a time. If the program wants it (torch.profiler), the session ends before the program's
// call continues, and the recording notes the time from which on nothing is known. The functions with which clients
// begin have slots in the preload library. A client that finds them with dlsym gets CUPTI's error for a second client.

// Called once, before the program can use CUPTI. Returns whether it is requested at all.
bool watch_external();
// Called outside of the allocator's locks, when the program has begun to use a device. Later calls have no effect.
void begin_external(record::ThreadState& thread);
// The process, or its recording, ends.
void finish_external();
// In usage.cpp: writes the usage of each device that has a context. No effect without NVML.
void write_device_usage(record::ThreadState& thread);

}  // namespace tapelens::cuda
