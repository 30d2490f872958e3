// The CUDA allocator of PyTorch in this process, found by the symbol of its pointer. Nothing of CUDA is linked.
#pragma once

namespace c10::cuda::CUDACachingAllocator {
class CUDAAllocator;
}

namespace tapelens::observe {

// Null if the process has none, or if the probe was built without the CUDA headers. The type is complete if
// <c10/cuda/CUDACachingAllocator.h> is also included.
c10::cuda::CUDACachingAllocator::CUDAAllocator* cuda_allocator();

// Whether the program has begun to use CUDA: its allocator has devices. False for a CUDA build of PyTorch that runs on
// the CPU only. True if the probe was built without the CUDA headers and cannot tell. Accesses no state of the program,
// so any operator may call it.
bool uses_cuda();

}  // namespace tapelens::observe
