// Which CUDA a PyTorch was built for, and where its libraries are: asked of the files of the package, nothing is
// loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/result.h"

namespace tapelens::simulated {

struct TorchCuda {
  std::string folder;                  // site-packages/torch
  uint64_t cuda = 0;                   // 13020: as cudaRuntimeGetVersion tells it
  uint64_t cudnn = 0;                  // 92600: as cudnnGetVersion
  uint64_t nccl = 0;                   // 23007: as ncclGetVersion; 0: this PyTorch comes without
  std::vector<std::string> libraries;  // paths of the libraries whose place is taken
  std::vector<std::string> of_driver;  // functions of libcuda.so.1 that PyTorch links to
};

// Errors are sentences for the user: a PyTorch without CUDA, one for ROCm, libraries that are not there.
trace::Result<TorchCuda> find_torch_cuda(const std::string& torch_folder);

}  // namespace tapelens::simulated
