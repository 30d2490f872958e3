#include "profiler/cupti/calls.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <string>

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

// The library that called CUDA.
namespace {

// struct dl_find_object of <dlfcn.h>, which headers before glibc 2.35 do not have.
struct FoundObject {
  unsigned long long flags;
  void *begin, *end;
  link_map* library;
  void* unwind_table;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

FindObject g_find_object = nullptr;
std::string* g_program = nullptr;  // the path of the program, for which the loader has no name

std::string_view library_at(uintptr_t counter) {
  FoundObject found{};
  if (g_find_object(reinterpret_cast<void*>(counter), &found) != 0 || found.library == nullptr) return {};
  const char* name = found.library->l_name;
  return name == nullptr || *name == '\0' ? std::string_view(*g_program) : std::string_view(name);
}

bool is_of_cuda(std::string_view path) {
  constexpr std::array kNames = {"libcuda.so",  "libcudart.so",       "libcudart-",
                                 "libcupti.so", "libcudadebugger.so", "libtapelens_gpu.so"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view one : kNames) {
    if (name.starts_with(one)) return true;
  }
  return false;
}

}  // namespace

void prepare_caller() {
  if (g_program == nullptr) {
    char path[4096];
    const ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path));
    g_program = new std::string(path, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

std::string_view calling_library() {
  if (g_find_object == nullptr) return {};
  struct Walk {
    bool is_below_us = false;  // in or past CUDA's own libraries
    std::string_view found;
    int frames = 0;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        auto& at = *static_cast<Walk*>(data);
        constexpr int kMostFrames = 64;
        const uintptr_t counter = _Unwind_GetIP(context);
        if (++at.frames > kMostFrames || counter == 0) return _URC_END_OF_STACK;
        const std::string_view library = library_at(counter - 1);
        if (library.empty()) return _URC_END_OF_STACK;
        const bool is_cuda = is_of_cuda(library);
        at.is_below_us |= is_cuda;
        if (is_cuda || !at.is_below_us) return _URC_NO_REASON;
        at.found = library;
        return _URC_END_OF_STACK;
      },
      &walk);
  return walk.found;
}

}  // namespace tapelens::cupti
