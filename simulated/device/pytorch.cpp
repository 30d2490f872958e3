// Functions of PyTorch that its libraries bind by symbol, in procedure linkage tables and virtual tables, so that these
// definitions replace them. Each calls the real one.
#include <dlfcn.h>

#include <cstdlib>

#include "simulated/device/memory.h"
#include "simulated/device/nccl.h"
#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

constexpr int kCuda = 1;  // c10::DeviceType

// The real function: PyTorch's libraries are rarely in the global scope.
void* real(const char* library, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

}  // namespace

// c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, c10::Device): called for every block that PyTorch's
// allocator allocates or frees (then `bytes` is negative). A Device is its type and its index, one byte each. A reused
// block still has its old content, which no kernel will overwrite.
TAPELENS_CUDA void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void* memory, int64_t bytes, size_t allocated,
                                                                         size_t reserved, short device) {
  using Report = void (*)(void*, int64_t, size_t, size_t, short);
  static const auto report =
      reinterpret_cast<Report>(real("libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  if (bytes > 0 && (device & 0xff) == kCuda) make_new(memory, static_cast<size_t>(bytes));
  if (report != nullptr) report(memory, bytes, allocated, reserved, device);
}

// c10d::TCPStore::waitForWorkers(): waits until all workers have connected. With --world no others will.
TAPELENS_CUDA void _ZN4c10d8TCPStore14waitForWorkersEv(void* store) {
  if (settings().world > 0) return;
  using Wait = void (*)(void*);
  if (const auto wait = reinterpret_cast<Wait>(real("libtorch_cpu.so", "_ZN4c10d8TCPStore14waitForWorkersEv")))
    wait(store);
}

// ProcessGroupNCCL::split(store, ranks, options), for each of the two classes with this name: makes the communicator of
// a group of this group's ranks. It returns an intrusive_ptr in memory of the caller.
namespace {

struct Ranks {  // std::vector<int>
  const int *begin, *end;
};

void* split(const char* name, void* result, void* group, const void* store, const Ranks* ranks, const void* options) {
  using Split = void* (*)(void*, void*, const void*, const Ranks*, const void*);
  const auto split = reinterpret_cast<Split>(real("libtorch_cuda.so", name));
  if (split == nullptr) abort();  // the caller belongs to this library
  set_split_ranks(static_cast<int>(ranks->end - ranks->begin));
  return split(result, group, store, ranks, options);
}

}  // namespace

#define TAPELENS_SPLIT(name)                                                                                        \
  TAPELENS_CUDA void* name(void* result, void* group, const void* store, const Ranks* ranks, const void* options) { \
    return split(#name, result, group, store, ranks, options);                                                      \
  }
TAPELENS_SPLIT(
    _ZN4c10d16ProcessGroupNCCL5splitERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEERKSt6vectorIiSaIiEERKNS2_INS_7Backend7OptionsENS5_ISG_EEEE)
TAPELENS_SPLIT(
    _ZN4c10d5nccl216ProcessGroupNCCL5splitERKN3c1013intrusive_ptrINS_5StoreENS2_6detail34intrusive_target_default_null_typeIS4_EEEERKSt6vectorIiSaIiEERKNS3_INS_7Backend7OptionsENS6_ISH_EEEE)
#undef TAPELENS_SPLIT
