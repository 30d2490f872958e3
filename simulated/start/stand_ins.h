// Replacements for CUDA's libraries in a run: libtapelens_gpu.so with the functions whose results matter, and a stub
// library for each CUDA library with all its other functions.
#pragma once

#include <string>
#include <vector>

#include "simulated/start/torch_cuda.h"

namespace tapelens::simulated {

struct StandIns {
  std::vector<std::string> preloads;  // paths, in the order of the preload list
  std::string driver_folder;          // contains libcuda.so.1, for Triton
};

// Writes them to `folder`, which must exist and be empty. `device`: the path of libtapelens_gpu.so.
trace::Result<StandIns> write_stand_ins(const TorchCuda& torch, const std::string& device, const std::string& folder);

}  // namespace tapelens::simulated
