// PyTorch's own CUDA allocator: found by the name of the pointer to it, called through its virtual functions alone.
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <string>

#include "profiler/cuda/device_memory.h"
#include "profiler/observe/observe.h"
#include "profiler/record/intern.h"
#include "profiler/record/storage.h"

namespace tapelens::cuda {
namespace {

using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::SegmentInfo;
using c10::CachingDeviceAllocator::TraceEntry;
using c10::cuda::CUDACachingAllocator::SnapshotInfo;
using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;

// What this process has of c10_cuda; null where it has none.
struct Library {
  std::atomic<Allocator*>* allocator = nullptr;
  c10::DeviceIndex (*device_count)() = nullptr;
  int (*memory_info)(size_t* free, size_t* total) = nullptr;  // cudaMemGetInfo; of the current device
};

const Library& library() {
  static const Library found = [] {
    Library made;
    void* handle = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) return made;
    made.allocator =
        static_cast<std::atomic<Allocator*>*>(dlsym(handle, "_ZN3c104cuda20CUDACachingAllocator9allocatorE"));
    made.device_count = reinterpret_cast<c10::DeviceIndex (*)()>(dlsym(handle, "_ZN3c104cuda12device_countEv"));
    made.memory_info = reinterpret_cast<int (*)(size_t*, size_t*)>(dlsym(handle, "cudaMemGetInfo"));
    dlclose(handle);  // the program keeps it
    return made;
  }();
  return found;
}

Allocator* allocator_now() { return library().allocator != nullptr ? library().allocator->load() : nullptr; }

c10::Device cuda_device(c10::DeviceIndex index) { return {c10::DeviceType::CUDA, index}; }

trace::PoolNumbers pool_of(const c10::MempoolId_t& id) {
  return {static_cast<uint32_t>(id.first), static_cast<uint32_t>(id.second)};
}

// What a device has, and what the process may have of it. Each is written by whoever has the lock of its allocator.
struct Limits {
  uint64_t total = 0;
  double fraction = 1;  // also where the program set none: then nothing is collected
};
std::array<Limits, 256> g_limits;
// Garbage collection goes by what the process may have: where it is on, that is asked for at each segment, since a
// program may change it at any time; else once.
std::atomic<bool> g_collects{false};

// After a segment was allocated, outside of any capture: the device is the current one, and may be asked.
void note_limits(c10::DeviceIndex device) try {
  Limits& limits = g_limits[static_cast<uint8_t>(device)];
  const std::string number = std::to_string(static_cast<int>(device));
  const bool is_first = limits.total == 0;
  if (is_first) {
    size_t free = 0, total = 0;
    if (library().memory_info == nullptr || library().memory_info(&free, &total) != 0 || total == 0) return;
    limits.total = total;
    note("cuda_memory:" + number, total);
  }
  if (!is_first && !g_collects.load(std::memory_order_relaxed)) return;
  Allocator* allocator = allocator_now();
  if (allocator == nullptr) return;
  const double fraction = allocator->getMemoryFraction(device);
  if (fraction == limits.fraction) return;
  limits.fraction = fraction;
  note("cuda_memory_allowed:" + number,
       static_cast<uint64_t>(std::round(fraction * static_cast<double>(limits.total))));
} catch (const std::exception&) {
  // The fraction is not known then, and what is collected by it is not foretold.
}

// Called by the allocator under the lock of a device.
void traced(const TraceEntry& entry) {
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

bool has_memory(Allocator& allocator) {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const c10::DeviceIndex devices = library().device_count != nullptr ? library().device_count() : 1;
  for (c10::DeviceIndex device = 0; device < devices; ++device) {
    if (allocator.getDeviceStats(device).reserved_bytes[kAll].current != 0) return true;
  }
  return false;
}

// What it handed out before.
void tell_of_older(record::ThreadState& thread, const SnapshotInfo& snapshot, Reported* reported) {
  for (const SegmentInfo& segment : snapshot.segments) {
    const c10::Device device = cuda_device(segment.device);
    const auto stream = reinterpret_cast<uint64_t>(segment.stream);
    const trace::PoolNumbers pool = pool_of(segment.owner_private_pool_id);
    segment_changed(segment.is_expandable ? trace::SegmentChange::mapped : trace::SegmentChange::allocated, device,
                    segment.address, segment.total_size, stream, pool);
    uint64_t address = segment.address;
    for (const BlockInfo& block : segment.blocks) {
      if (reported != nullptr && reported->address == address && block.allocated) {
        reported->requested = block.requested_size;
      } else if (block.active) {
        older_block(thread, {address, block.requested_size, block.size, stream, pool, !block.allocated}, device);
      }
      address += block.size;
    }
  }
}

}  // namespace

bool can_attach() {
  Allocator* allocator = allocator_now();
  return allocator == nullptr || allocator->initialized();
}

void attach(record::ThreadState& thread, Reported* reported) {
  Allocator* allocator = allocator_now();
  if (allocator == nullptr) return;
  // One that is not PyTorch's own tells of nothing, and nor does PyTorch's where it caches nothing.
  const char* uncached = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  const std::string name = uncached != nullptr ? "PYTORCH_NO_CUDA_MEMORY_CACHING" : allocator->name();
  if (name != "native") {
    record::write_information(thread, "cuda_allocator", name);
    return;
  }
  record::g_device_deleter.store(allocator->raw_deleter(), std::memory_order_relaxed);
  const bool had_memory = has_memory(*allocator);
  allocator->attachAllocatorTraceTracker(traced);
  const SnapshotInfo snapshot = allocator->snapshot({0, 0}, /*include_traces=*/false);
  const std::string& settings = snapshot.config_metadata.last_allocator_settings;
  if (!settings.empty()) record::write_information(thread, "cuda_allocator_settings", settings);
  g_collects.store(snapshot.config_metadata.garbage_collection_threshold > 0, std::memory_order_relaxed);
  if (had_memory) tell_of_older(thread, snapshot, reported);
}

}  // namespace tapelens::cuda
