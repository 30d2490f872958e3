// Memory of a device outside PyTorch's allocator, by the library that allocated it (`tapelens record --cupti`), and how
// it adds up to the bytes in use.
//
// The recording has each allocation of the driver, also of physical memory (cuMemCreate). PyTorch's segments are among
// them; their addresses identify them, and they do not count here. Memory from before the recording (above all CUDA's
// context) and the driver's own memory are in no allocation. They are the remainder of the bytes in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/peak/device_memory.h"

namespace tapelens::peak {

// The usual maximum of CUDA's context, cuBLAS and NCCL together in a program on one GPU. A smaller headroom may be too
// small.
inline constexpr Bytes kUsualExternalMemory{int64_t{1} << 30};
// Estimates from the measurements in docs/simulated-gpu.md. CUDA's context without a loaded kernel, for each
// multiprocessor: 527 MiB on an H100 with 132; 107 MiB on a GPU with 34, 426 MiB with 142, 555 MiB with 188. The
// kernels of cuBLAS, cuDNN and attention: 240 MiB on the H100.
inline constexpr Bytes kContextOfProcessor{int64_t{4} << 20}, kLoadedKernels{int64_t{240} << 20};
// The context and the kernels of a program on a GPU with so many multiprocessors.
constexpr Bytes usual_context(int64_t processors) {
  return {processors * kContextOfProcessor.value + kLoadedKernels.value};
}

// The program's place on the thread of a library's request.
struct FirstRequest {
  std::string op;      // innermost: "aten::addmm"
  std::string module;  // empty: outside of modules
  std::string source;  // "train.py:42 forward"; empty: it has no stack
};

struct ExternalLibrary {
  std::string library;  // the path; empty: not known
  Bytes at_peak;        // alive at the requested moment
  Bytes peak;           // the most bytes at one time
  uint64_t allocations = 0;
  std::optional<FirstRequest> first;  // the first request inside an operator; none: not known
};

// Memory of the driver's pools (cudaMallocAsync). Blocks of a pool in use count for a library.
struct DriverPools {
  Bytes reserved, unused;  // at the requested moment
  Bytes unused_peak;       // the most at one time
};

// The bytes in use by all processes at the moment of their maximum.
struct DeviceUse {
  Time time;
  Bytes total;  // the device's memory
  Bytes used;
  Bytes reserved;       // PyTorch's segments
  Bytes external;       // allocated by libraries
  Bytes unused;         // in pools
  Bytes rest() const {  // not accounted for
    return {used.value - reserved.value - external.value - unused.value};
  }
};

struct ExternalMemory {
  std::vector<ExternalLibrary> libraries;  // the most at the moment first
  Bytes at_peak, peak;                     // the sum over the libraries
  Time peak_time;
  std::optional<DriverPools> pools;  // none: the recording has no pool
  Bytes host_peak;                   // pinned memory of the host, by all libraries, PyTorch among them
  uint64_t unmatched = 0;            // frees without a recorded allocation: older than the recording, or dropped
  std::optional<Time> until;         // another tool took CUPTI; later memory is unknown
  std::optional<DeviceUse> use;      // none: NVML gave no values
};

// None if the recording has no such memory (made without `--cupti`, or CUPTI refused). `memory`: that of the device.
std::optional<ExternalMemory> external_memory(const Process& process, const model::Text& text, DeviceId device,
                                              const DeviceMemory& memory, Time moment);

}  // namespace tapelens::peak
