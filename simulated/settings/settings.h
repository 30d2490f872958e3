// The properties of a run's simulated GPUs. The command line writes them to the environment; libtapelens_gpu.so reads
// them in each process of the run. Uses only libc, because the library is loaded into programs with any C++ runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulated/settings/variables.h"

namespace tapelens::simulated {

inline constexpr const char* kSettingsVariable = TAPELENS_SIMULATED_GPU;
inline constexpr const char* kLibraryName = "libtapelens_gpu.so";

// A copy between host and device, or a fill, is executed up to this many bytes; larger ones are not.
inline constexpr size_t kKeptBytes = 65536;

inline constexpr uint64_t kEstimated = UINT64_MAX;  // simulated/convolutions/workspace.h

struct GpuSettings {
  uint64_t count = 1;  // identical GPUs that the program sees
  uint64_t world = 0;  // ranks of the run, of which only this one exists; 0: one per process
  // The GPU, as in cudaGetDeviceProperties.
  uint64_t bytes = 0, major = 0, minor = 0, processors = 0, l2_bytes = 0, bus_bits = 0;
  uint64_t shared_per_block = 0;      // bytes, with opt-in
  uint64_t shared_per_processor = 0;  // bytes
  uint64_t threads_per_processor = 0, blocks_per_processor = 0;
  // Versions of the replaced libraries, as their own functions report them (13020, 92600, 23007).
  uint64_t cuda = 0, cudnn = 0, nccl = 0;
  uint64_t cudnn_workspace = kEstimated;  // bytes of cuDNN's workspace for each convolution and attention
  char name[64] = {};                     // "NVIDIA H100 80GB HBM3"
};

// Writes the text of the variable; returns snprintf's result, which shows if `room` is too small.
int write(const GpuSettings& settings, char* text, size_t room);
// False, without a change of `settings`, for a text that write() cannot produce.
bool read(const char* text, GpuSettings& settings);

}  // namespace tapelens::simulated
