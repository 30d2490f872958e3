// PyTorch's CUDA allocator: found by the symbol of its pointer, and called only through its virtual functions.
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "profiler/cuda/device_memory.h"
#include "profiler/observe/cuda_allocator.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/torch_minor.h"
#include "profiler/record/intern.h"
#include "profiler/record/storage.h"

namespace tapelens::cuda {
namespace {

#if TAPELENS_CUDA_EVENTS_ARE_IN_CORE
namespace events = c10::CachingDeviceAllocator;
#else
namespace events = c10::cuda::CUDACachingAllocator;
#endif
using c10::cuda::CUDACachingAllocator::SnapshotInfo;
using events::BlockInfo;
using events::SegmentInfo;
using events::TraceEntry;
using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;

// The blocks of all GPUs; without the events if possible, because nothing here reads them.
SnapshotInfo take_snapshot(Allocator& allocator) {
#if TAPELENS_CUDA_EVENTS_ARE_IN_CORE
  return allocator.snapshot({0, 0}, /*include_traces=*/false);
#else
  return allocator.snapshot({0, 0});
#endif
}

// cudaMemGetInfo of the CUDA runtime that LibTorch is linked with, for the current device; null without it.
using MemoryInfo = int (*)(size_t* free, size_t* total);
MemoryInfo memory_info() {
  static const auto found = [] {
    void* handle = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) return static_cast<MemoryInfo>(nullptr);
    const auto function = reinterpret_cast<MemoryInfo>(dlsym(handle, "cudaMemGetInfo"));
    dlclose(handle);  // the program keeps it
    return function;
  }();
  return found;
}

c10::Device cuda_device(c10::DeviceIndex index) { return {c10::DeviceType::CUDA, index}; }

trace::PoolNumbers pool_of(const decltype(TraceEntry::mempool_)& id) {
  return {static_cast<uint32_t>(id.first), static_cast<uint32_t>(id.second)};
}

// State of the tracker: whether it is installed, and which GPUs are recorded. Each entry is written under the GPU's
// lock.
std::atomic<bool> g_tracks{false};
std::array<std::atomic<bool>, 256> g_is_watched{};

bool listens_to(c10::DeviceIndex device) {
  return g_is_watched[static_cast<uint8_t>(device)].load(std::memory_order_relaxed);
}

// The attach() in progress on this thread.
struct Attaching {
  record::ThreadState& thread;
  Allocator& allocator;
  Reported* reported;
  c10::DeviceIndex next = 0;  // the GPU whose snapshot event comes next
};
thread_local Attaching* t_attaching = nullptr;

void begin_watch(const Attaching& attaching, c10::DeviceIndex device);

// A device's memory and the process's share of it. Written under the lock of the device's allocator.
struct Limits {
  uint64_t total = 0;
  double fraction = 1;  // also if the program set none: then no garbage is collected
};
std::array<Limits, 256> g_limits;
// Garbage collection depends on the process's share. If it is on, read the share at each segment, because a program may
// change it at any time; else only once.
std::atomic<bool> g_collects{false};

// Called after a segment was allocated, outside of any capture: the device is the current one, and may be queried.
void note_limits(c10::DeviceIndex device) try {
  Limits& limits = g_limits[static_cast<uint8_t>(device)];
  const std::string number = std::to_string(static_cast<int>(device));
  const bool is_first = limits.total == 0;
  if (is_first) {
    size_t free = 0, total = 0;
    if (memory_info() == nullptr || memory_info()(&free, &total) != 0 || total == 0) return;
    limits.total = total;
    note("cuda_memory:" + number, total);
  }
  if (!is_first && !g_collects.load(std::memory_order_relaxed)) return;
  Allocator* allocator = observe::cuda_allocator();
  if (allocator == nullptr) return;
  const double fraction = allocator->getMemoryFraction(device);
  if (fraction == limits.fraction) return;
  limits.fraction = fraction;
  note("cuda_memory_allowed:" + number,
       static_cast<uint64_t>(std::round(fraction * static_cast<double>(limits.total))));
} catch (const std::exception&) {
  // The fraction is then unknown, and garbage collection is not predicted.
}

// The allocator calls this under the lock of a device.
void traced(const TraceEntry& entry) {
  if (entry.action_ == TraceEntry::SNAPSHOT && t_attaching != nullptr) {
    // A snapshot of all GPUs reports each GPU under its lock, in order, but not its index.
    Attaching* attaching = std::exchange(t_attaching, nullptr);  // not for the snapshot that begin_watch() takes
    begin_watch(*attaching, attaching->next++);
    t_attaching = attaching;
  }
  if (!record::is_recording() || !listens_to(entry.device_)) return;
  const auto stream = reinterpret_cast<uint64_t>(entry.stream_);
  const auto segment = [&](trace::SegmentChange change) {
    const trace::PoolNumbers pool = pool_of(entry.mempool_);
    segment_changed(change, cuda_device(entry.device_), entry.addr_, entry.size_, stream, pool);
    const bool is_more = change == trace::SegmentChange::allocated || change == trace::SegmentChange::mapped;
    if (is_more && pool.graph == 0 && pool.user == 0) note_limits(entry.device_);
  };
  switch (entry.action_) {
    case TraceEntry::ALLOC:
      return allocation_traced(entry.addr_, entry.size_, stream, pool_of(entry.mempool_));
    case TraceEntry::FREE_REQUESTED:
      return free_requested(entry.addr_);
    case TraceEntry::FREE_COMPLETED:
      return free_completed(entry.addr_, cuda_device(entry.device_));
    case TraceEntry::SEGMENT_ALLOC:
      return segment(trace::SegmentChange::allocated);
    case TraceEntry::SEGMENT_FREE:
      return segment(trace::SegmentChange::freed);
    case TraceEntry::SEGMENT_MAP:
      return segment(trace::SegmentChange::mapped);
    case TraceEntry::SEGMENT_UNMAP:
      return segment(trace::SegmentChange::unmapped);
    case TraceEntry::OOM:
      return out_of_memory_traced(entry.addr_);
    default:
      return;
  }
}

// Called under the device's lock: records the existing memory. From here on events of the device are recorded.
void begin_watch(const Attaching& attaching, c10::DeviceIndex index) {
  const c10::Device device = cuda_device(index);
  const auto snapshot = take_snapshot(attaching.allocator);
  for (const SegmentInfo& segment : snapshot.segments) {
    if (segment.device != index) continue;
    const auto stream = reinterpret_cast<uint64_t>(segment.stream);
    const trace::PoolNumbers pool = pool_of(segment.owner_private_pool_id);
    segment_changed(segment.is_expandable ? trace::SegmentChange::mapped : trace::SegmentChange::allocated, device,
                    segment.address, segment.total_size, stream, pool);
    uint64_t address = segment.address;
    for (const BlockInfo& block : segment.blocks) {
      if (attaching.reported != nullptr && attaching.reported->address == address && block.allocated) {
        attaching.reported->requested = block.requested_size;
      } else if (block.active) {
        older_block(attaching.thread, {address, block.requested_size, block.size, stream, pool, !block.allocated},
                    device);
      }
      address += block.size;
    }
  }
  g_is_watched[static_cast<uint8_t>(index)].store(true, std::memory_order_relaxed);
}

}  // namespace

bool can_attach() {
  Allocator* allocator = observe::cuda_allocator();
  return allocator == nullptr || allocator->initialized();
}

void attach(record::ThreadState& thread, Reported* reported) {
  Allocator* allocator = observe::cuda_allocator();
  if (allocator == nullptr) return;
  // Allocators other than PyTorch's report no events, nor does PyTorch's without caching.
  const char* uncached = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  const std::string name = uncached != nullptr ? "PYTORCH_NO_CUDA_MEMORY_CACHING" : allocator->name();
  if (name != "native") {
    record::write_information(thread, "cuda_allocator", name);
    return;
  }
  record::g_device_deleter.store(allocator->raw_deleter(), std::memory_order_relaxed);
  g_tracks.store(true, std::memory_order_relaxed);
  allocator->attachAllocatorTraceTracker(traced);
  Attaching attaching{thread, *allocator, reported};
  t_attaching = &attaching;
  try {
    const SnapshotInfo snapshot = take_snapshot(*allocator);
    const std::string& settings = snapshot.config_metadata.last_allocator_settings;
    if (!settings.empty()) record::write_information(thread, "cuda_allocator_settings", settings);
    g_collects.store(snapshot.config_metadata.garbage_collection_threshold > 0, std::memory_order_relaxed);
  } catch (...) {
    t_attaching = nullptr;
    throw;
  }
  t_attaching = nullptr;
}

bool is_watched(c10::Device device) {
  if (!device.is_cuda() || listens_to(device.index())) return true;
  // No GPU can have become watched meanwhile: that needs the device's lock.
  return !g_is_unwatched.load(std::memory_order_acquire) && !g_tracks.load(std::memory_order_relaxed);
}

}  // namespace tapelens::cuda
