// What PyTorch's allocator of a device that is not the CPU hands out, takes back, reserves, and could not give.
//
// Two sources of one call, in this order, on the thread that called, under the allocator's lock of that device:
//   the trace tracker (CUDA's own allocator): bytes asked for, stream, pool, segments, when a free is complete;
//   c10::reportMemoryUsageToProfiler: bytes of the block, and whose device.
// What the first told waits in the thread's state until the second comes, which writes the record. Allocators of other
// devices have the second alone; CUDA's that are not PyTorch's own have neither.
//
// Under that lock nothing here takes a lock that is ever held around it, above all not the interpreter's. Locks that
// are taken there and by nobody around the allocator's: that of the device names (record/storage.h), those of the
// interned texts and of the spool's growth. LibTorch is called there in two places. In attach(), once: it asks the
// allocator for snapshots under the lock of a device. And at the first segment of a device (where garbage is collected,
// at each) it is asked what part of the device the process may have. The allocator's locks can be taken again by the
// thread that has them, and no other thread waits for one of them while it holds another.
//
// The watch over a GPU begins under its lock, with a snapshot of what it has: what came before is in the snapshot, what
// comes after is told. Of a thread that allocates on another GPU in that moment nothing is taken but the snapshot; one
// that begins an operator waits until the watch has begun, so that no operator allocates unseen.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "profiler/record/thread_state.h"

namespace tapelens::cuda {

// Once, before the recording of the process begins.
void watch_device_memory();
// The process ends, by an exit handler: what is still under way is told.
void finish_device_memory();

// From watch_device_memory() until attach() is done: operators on a device wait for it.
extern std::atomic<bool> g_is_unwatched;

// caching_allocator.cpp. Whether attach() can settle what there is to watch: false until the program begins to use a
// device. Asked at operators until then, so it reads and writes nothing.
bool can_attach();
// Once. `reported`: the block whose allocation is being reported, of which the tracker knew nothing yet; its requested
// bytes are filled in. Or null.
struct Reported {
  uint64_t address = 0;
  uint64_t requested = 0;  // 0: not known
};
void attach(record::ThreadState& thread, Reported* reported);
// Whether what is reported of that device is to be written: not what a snapshot will have. Under the device's lock.
bool is_watched(c10::Device device);

// The tracker's events, from reports.cpp's point of view.
void allocation_traced(uint64_t address, uint64_t requested, uint64_t stream, trace::PoolNumbers pool);
void free_requested(uint64_t address);
void free_completed(uint64_t address, c10::Device device);
void segment_changed(trace::SegmentChange change, c10::Device device, uint64_t address, uint64_t bytes, uint64_t stream,
                     trace::PoolNumbers pool);
void out_of_memory_traced(uint64_t device_free);
// What the recording is to know of a device, by a name.
void note(const std::string& key, uint64_t bytes);

// What was there before the tracker.
struct OlderBlock {
  uint64_t address, requested, rounded, stream;
  trace::PoolNumbers pool;
  bool waits;  // it is free as far as the program is concerned
};
void older_block(record::ThreadState& thread, const OlderBlock& block, c10::Device device);

}  // namespace tapelens::cuda
