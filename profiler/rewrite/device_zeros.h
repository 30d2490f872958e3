// Addresses of a GPU that read as zeros and use almost no memory.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace tapelens::rewrite {

// Returns `bytes` bytes of zeros, or null if the device cannot provide them. One page of the GPU's memory (2 MiB,
// outside of PyTorch's allocator) is mapped to all of them. Mapping happens on the first request, takes some
// microseconds per 2 MiB, and stays. Never write there; LibTorch does not write to saved tensors. Callable from any
// thread.
void* device_zeros(c10::Device device, uint64_t bytes);

}  // namespace tapelens::rewrite
