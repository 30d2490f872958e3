// PyTorch's own CUDA allocator in this process: found by the name of the pointer to it. Nothing of CUDA is linked.
#pragma once

namespace c10::cuda::CUDACachingAllocator {
class CUDAAllocator;
}

namespace tapelens::observe {

// Null where the process has none; complete where <c10/cuda/CUDACachingAllocator.h> is included too. Not where the
// probe is built without the headers of CUDA.
c10::cuda::CUDACachingAllocator::CUDAAllocator* cuda_allocator();

// Whether the program has begun to use CUDA: its allocator has devices. PyTorch for CUDA on the CPU alone does not.
// True as well where that cannot be told: where the probe is built without the headers of CUDA. Reads and writes
// nothing of the program's, so any operator may ask.
bool uses_cuda();

}  // namespace tapelens::observe
