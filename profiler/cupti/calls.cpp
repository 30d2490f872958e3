#include "profiler/cupti/calls.h"

#include "profiler/cupti/caller.h"
#include "profiler/cupti/clocks.h"

namespace tapelens::cupti {
namespace {

// CUpti_driver_api_trace_cbid
constexpr uint32_t kVirtual[] = {kMemCreate, kMemRelease, kMemMap, kMemUnmap, kMemRetain};
// Functions that allocate device memory. The runtime's functions call the driver's; an activity has the number of one
// of the two calls.
constexpr uint32_t kDriver[] = {
    243,  // cuMemAlloc_v2
    244,  // cuMemAllocPitch_v2
    371,  // cuMemAllocManaged
    598,  // cuMemAllocAsync
    599,  // cuMemAllocAsync_ptsz
    611,  // cuMemAllocFromPoolAsync
    612,  // cuMemAllocFromPoolAsync_ptsz
};
// CUpti_runtime_api_trace_cbid
constexpr uint32_t kRuntime[] = {
    20,   // cudaMalloc_v3020
    21,   // cudaMallocPitch_v3020
    23,   // cudaMallocArray_v3020
    140,  // cudaMalloc3D_v3020
    141,  // cudaMalloc3DArray_v3020
    206,  // cudaMallocManaged_v6000
    373,  // cudaMallocAsync_v11020
    374,  // cudaMallocAsync_ptsz_v11020
    391,  // cudaMallocFromPoolAsync_v11020
    392,  // cudaMallocFromPoolAsync_ptsz_v11020
};

}  // namespace

Result enable_calls(const Functions& functions, Subscriber subscriber) {
  for (const uint32_t function : kVirtual) {
    const Result enabled = functions.enable_callback(1, subscriber, Domain::driver, function);
    if (enabled != Result::success) return enabled;
  }
  for (const uint32_t function : kDriver) functions.enable_callback(1, subscriber, Domain::driver, function);
  for (const uint32_t function : kRuntime) functions.enable_callback(1, subscriber, Domain::runtime, function);
  return Result::success;
}

std::optional<VirtualMemory> virtual_memory(uint32_t function, const CallbackData& call) {
  using Change = VirtualMemory::Change;
  const auto now = monotonic_ns();
  // Another thread may get freed memory before the function ends: use the time when the function began.
  const auto before = call.from_enter_to_exit != nullptr ? *call.from_enter_to_exit : now;
  switch (function) {
    case kMemCreate: {
      const auto& made = *static_cast<const CreateParameters*>(call.parameters);
      if (made.properties->location_type != kOnDevice) return {};
      return VirtualMemory{.change = Change::created,
                           .device = static_cast<uint32_t>(made.properties->location),
                           .handle = *made.handle,
                           .bytes = made.bytes,
                           .happened_ns = now,
                           .call = call.correlation,
                           .library = calling_library()};
    }
    case kMemRetain:
      return VirtualMemory{.change = Change::retained,
                           .handle = *static_cast<const RetainParameters*>(call.parameters)->handle,
                           .happened_ns = now,
                           .library = {}};
    case kMemRelease:
      return VirtualMemory{.change = Change::released,
                           .handle = static_cast<const ReleaseParameters*>(call.parameters)->handle,
                           .happened_ns = before,
                           .library = {}};
    case kMemMap: {
      const auto& mapped = *static_cast<const MapParameters*>(call.parameters);
      return VirtualMemory{.change = Change::mapped,
                           .handle = mapped.handle,
                           .address = mapped.address,
                           .happened_ns = now,
                           .library = {}};
    }
    case kMemUnmap: {
      const auto& unmapped = *static_cast<const UnmapParameters*>(call.parameters);
      return VirtualMemory{.change = Change::unmapped,
                           .address = unmapped.address,
                           .bytes = unmapped.bytes,
                           .happened_ns = before,
                           .library = {}};
    }
    default:
      return {};
  }
}

}  // namespace tapelens::cupti
