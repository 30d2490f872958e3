// Replaces cuda_allocator.cpp if the probe is built without the CUDA headers.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "profiler/observe/cuda_allocator.h"

namespace tapelens::observe {

c10::cuda::CUDACachingAllocator::CUDAAllocator* cuda_allocator() { return nullptr; }

bool uses_cuda() {
  static const bool may_be_used = c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA);
  return may_be_used;
}

}  // namespace tapelens::observe
