// Libraries that take the place of CUDA's in a run: libtapelens_gpu.so, which has the functions whose answers matter,
// and for each library of CUDA a stub library with all of its other functions.
#pragma once

#include <string>
#include <vector>

#include "simulated/start/torch_cuda.h"

namespace tapelens::simulated {

struct StandIns {
  std::vector<std::string> preloads;  // paths, in the order in which they are to be preloaded
  std::string driver_folder;          // that has libcuda.so.1: where Triton looks for it
};

// Writes them into `folder`, which has to be there and empty. `device`: the path of libtapelens_gpu.so.
trace::Result<StandIns> write_stand_ins(const TorchCuda& torch, const std::string& device, const std::string& folder);

}  // namespace tapelens::simulated
