// What a run's simulated GPUs are: written into the environment by the command line, read from it by libtapelens_gpu.so
// in each process of the run. Uses libc alone: the library is loaded into programs that may have any C++ runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulated/settings/variables.h"

namespace tapelens::simulated {

inline constexpr const char* kSettingsVariable = TAPELENS_SIMULATED_GPU;
inline constexpr const char* kLibraryName = "libtapelens_gpu.so";

// A copy between host and device, or a fill, of at most so many bytes is carried out; larger ones are not.
inline constexpr size_t kKeptBytes = 65536;

struct Settings {
  uint64_t count = 1;  // GPUs that the program sees, all alike
  uint64_t world = 0;  // ranks of the run, of which there is this one alone; 0: as many as there are processes
  // The GPU, as cudaGetDeviceProperties tells of it.
  uint64_t bytes = 0, major = 0, minor = 0, processors = 0, l2_bytes = 0, bus_bits = 0;
  uint64_t shared_per_block = 0;      // bytes, with opt-in
  uint64_t shared_per_processor = 0;  // bytes
  uint64_t threads_per_processor = 0, blocks_per_processor = 0;
  // Of the libraries whose place is taken: as their own functions tell it (13020, 92600, 23007).
  uint64_t cuda = 0, cudnn = 0, nccl = 0;
  uint64_t cudnn_workspace = 0;  // bytes that cuDNN asks for with each convolution and attention
  char name[64] = {};            // "NVIDIA H100 80GB HBM3"
};

// The text of a variable; what snprintf answers, so that `room` too small can be told.
int write(const Settings& settings, char* text, size_t room);
// False, and `settings` as it was, for a text that write() never makes.
bool read(const char* text, Settings& settings);

}  // namespace tapelens::simulated
