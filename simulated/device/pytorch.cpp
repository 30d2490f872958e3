// Two functions of PyTorch's, which its libraries call through their procedure linkage tables, so that these
// definitions take their place. Each calls the real one.
#include <dlfcn.h>

#include "simulated/device/memory.h"
#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

constexpr int kCuda = 1;  // c10::DeviceType

// The real function: PyTorch's libraries are seldom in the scope of the whole process.
void* real(const char* library, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

}  // namespace

// c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, c10::Device): every block that PyTorch's allocator
// hands out, and takes back (then `bytes` is negative). A Device is its type and its index, a byte each. What is handed
// out again still holds what was there before, which no kernel will write over.
TAPELENS_CUDA void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void* memory, int64_t bytes, size_t allocated,
                                                                         size_t reserved, short device) {
  using Report = void (*)(void*, int64_t, size_t, size_t, short);
  static const auto report =
      reinterpret_cast<Report>(real("libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  if (bytes > 0 && (device & 0xff) == kCuda) make_new(memory, static_cast<size_t>(bytes));
  if (report != nullptr) report(memory, bytes, allocated, reserved, device);
}

// c10d::TCPStore::waitForWorkers(): counts who has come, and waits until all have. With --simulate-world nobody else
// will.
TAPELENS_CUDA void _ZN4c10d8TCPStore14waitForWorkersEv(void* store) {
  if (settings().world > 0) return;
  using Wait = void (*)(void*);
  if (const auto wait = reinterpret_cast<Wait>(real("libtorch_cpu.so", "_ZN4c10d8TCPStore14waitForWorkersEv")))
    wait(store);
}
