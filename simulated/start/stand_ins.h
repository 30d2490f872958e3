// Replacements for CUDA's libraries in a run: libtapelens_gpu.so with the functions whose results matter, and a stub
// library for each CUDA library with all its other functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/result.h"

namespace tapelens::simulated {

// The CUDA version that a PyTorch was built for, and its CUDA libraries, from the files of the package, without loading
// them.
struct TorchCuda {
  std::string folder;                  // site-packages/torch
  uint64_t cuda = 0;                   // 13020: as in cudaRuntimeGetVersion
  uint64_t cudnn = 0;                  // 92600: as in cudnnGetVersion
  uint64_t nccl = 0;                   // 23007: as in ncclGetVersion; 0: this PyTorch has no NCCL
  std::vector<std::string> libraries;  // paths of the replaced libraries
  std::vector<std::string> of_driver;  // functions of libcuda.so.1 that PyTorch links
};

// Errors are sentences for the user: a PyTorch without CUDA or for ROCm, or missing libraries.
trace::Result<TorchCuda> find_torch_cuda(const std::string& torch_folder);

struct StandIns {
  std::vector<std::string> preloads;  // paths, in the order of the preload list
  std::string driver_folder;          // contains libcuda.so.1, for Triton
};

// Writes them to `folder`, which must exist and be empty. `device`: the path of libtapelens_gpu.so.
trace::Result<StandIns> write_stand_ins(const TorchCuda& torch, const std::string& device, const std::string& folder);

}  // namespace tapelens::simulated
