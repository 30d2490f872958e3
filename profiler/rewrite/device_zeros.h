// Addresses of a GPU behind which there are zeros, and hardly any memory.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace tapelens::rewrite {

// So many bytes of zeros; null: there is no way to have them. One page of the GPU's memory (2 MiB, outside of PyTorch's
// allocator) is mapped to all of them. They are mapped when they are first asked for, in some microseconds each 2 MiB,
// and stay. Nobody may write there: LibTorch does not write to what is saved. Any thread.
void* device_zeros(c10::Device device, uint64_t bytes);

}  // namespace tapelens::rewrite
