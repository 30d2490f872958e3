// The usage of a device by all processes: NVML reports it without a CUDA context, stream or capture.
#include <dlfcn.h>

#include <array>
#include <cstdint>

#include "profiler/cuda/device_memory.h"
#include "profiler/record/storage.h"

namespace tapelens::cuda {
namespace {

constexpr size_t kMostDevices = 64;

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};

// NVML and the CUDA runtime, as loaded by the program.
struct Libraries {
  int (*memory_info)(void* device, Memory*) = nullptr;
  std::array<void*, kMostDevices> handles{};  // of NVML, in CUDA's order of devices; null: not known
  size_t count = 0;
};

template <class Function>
Function find(void* library, const char* name) {
  return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

// CUDA_VISIBLE_DEVICES changes CUDA's numbers but not NVML's: the devices are matched by PCI address.
Libraries open() {
  Libraries made;
  void* cuda = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  const auto count = find<int (*)(int*)>(cuda, "cudaGetDeviceCount");
  const auto bus_id = find<int (*)(char*, int, int)>(cuda, "cudaDeviceGetPCIBusId");
  if (cuda != nullptr) dlclose(cuda);  // the program keeps it
  if (count == nullptr || bus_id == nullptr) return made;
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  const auto begin = find<int (*)()>(nvml, "nvmlInit_v2");
  const auto by_bus_id = find<int (*)(const char*, void**)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto memory_info = find<int (*)(void*, Memory*)>(nvml, "nvmlDeviceGetMemoryInfo");
  if (begin == nullptr || by_bus_id == nullptr || memory_info == nullptr || begin() != 0) return made;
  int devices = 0;
  if (count(&devices) != 0) return made;
  for (int device = 0; device < devices && made.count < kMostDevices; ++device) {
    char text[32] = {};
    void* handle = nullptr;
    if (bus_id(text, sizeof(text), device) != 0 || by_bus_id(text, &handle) != 0) handle = nullptr;
    made.handles[made.count++] = handle;
  }
  made.memory_info = memory_info;
  return made;
}

}  // namespace

void write_device_usage(record::ThreadState& thread) {
  static const Libraries& libraries = *new Libraries(open());
  for (size_t device = 0; device < libraries.count; ++device) {
    Memory memory{};
    if (libraries.handles[device] == nullptr || libraries.memory_info(libraries.handles[device], &memory) != 0)
      continue;
    const c10::Device name{c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)};
    thread.lane.write(trace::DeviceUsageRecord{
        record::header<trace::DeviceUsageRecord>(trace::RecordKind::device_usage, record::device_id(thread, name)),
        trace::ticks_now(), memory.used, memory.total});
  }
}

}  // namespace tapelens::cuda
