#include "profiler/observe/cuda_allocator.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <atomic>

namespace tapelens::observe {

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;

Allocator* cuda_allocator() {
  static std::atomic<Allocator*>* const found = [] {
    void* handle = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) return static_cast<std::atomic<Allocator*>*>(nullptr);
    void* pointer = dlsym(handle, "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
    dlclose(handle);  // the program keeps it
    return static_cast<std::atomic<Allocator*>*>(pointer);
  }();
  return found != nullptr ? found->load() : nullptr;
}

bool uses_cuda() {
  static std::atomic<bool> used{false};
  if (used.load(std::memory_order_relaxed)) return true;
  Allocator* const allocator = cuda_allocator();
  if (allocator == nullptr || !allocator->initialized()) return false;
  used.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace tapelens::observe
