// The probe's interface to libtapelens_gpu.so, which it finds with dlsym(RTLD_DEFAULT, kKnownTable). It reports events
// of a run that PyTorch does not report.
//
// A byte of a simulated GPU's memory is *known* if it has the value that it would have on a GPU: a copy from the host
// or a fill wrote it, or an operator that was executed on known bytes. All other bytes are *unknown*.
// libtapelens_gpu.so tracks them; the probe sees the operators.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

inline constexpr const char* kKnownTable = "tapelens_gpu_known";
inline constexpr uint32_t kKnownVersion = 3;

struct KnownTable {
  uint32_t version;  // kKnownVersion
  // False for memory that is not a GPU's.
  bool (*is_known)(const void* memory, size_t bytes);
  void (*set_known)(void* memory, size_t bytes, bool known);
  // Registers a callback for each copy of bytes to the host that are not all known, on the copying thread. It returns
  // whether the program reads them; without a callback every such copy counts as the program's.
  void (*watch_reads)(bool (*read)(size_t bytes));
  // Registers a callback for each NCCL communicator, on the thread that makes it, and calls it for existing ones.
  // `device`: the process's index of the GPU. `ranks`: the size of the communicator (0: not known).
  void (*watch_communicators)(void (*made)(int device, int ranks));
};

}  // namespace tapelens::simulated
