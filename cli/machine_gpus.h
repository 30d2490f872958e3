// The NVIDIA GPUs of this machine, from NVIDIA's management library (NVML), which starts no CUDA context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulated/settings/settings.h"

namespace tapelens::cli {

struct MachineGpu {
  std::string name, uuid;        // "NVIDIA H100 80GB HBM3", "GPU-8a56a4bc-..."
  uint64_t bytes = 0, free = 0;  // without and with the memory that all processes and the driver use
  bool is_divided = false;       // into instances (MIG), which NVML does not match with CUDA's devices
};

// The GPUs of the machine; empty without NVML. `library`: the name or path for dlopen.
std::vector<MachineGpu> machine_gpus(const char* library = "libnvidia-ml.so.1");

// The GPUs that a program sees with CUDA_VISIBLE_DEVICES. Null: unset. None: which ones it names is not known, because
// CUDA numbers different GPUs in another order than NVML, unless CUDA_DEVICE_ORDER is PCI_BUS_ID.
std::optional<std::vector<MachineGpu>> visible_gpus(const std::vector<MachineGpu>& all, const char* visible,
                                                    const char* order);

// The visible GPUs of this machine, with the environment of this process. Empty: no GPU, or not known. Asks NVML once,
// because the start of NVML takes up to a second on some machines.
const std::vector<MachineGpu>& gpus_of_programs();

// Simulated GPUs like these: the same card in the same number. None: the GPUs differ, or are of no known card.
std::optional<simulated::GpuSettings> simulated_like(const std::vector<MachineGpu>& gpus);

// The memory that PyTorch's allocator can have on a GPU: less CUDA's context and kernels. `free`: bytes that are free
// before; `name`: the driver's name of the GPU.
uint64_t usable_bytes(uint64_t free, const std::string& name);

}  // namespace tapelens::cli
