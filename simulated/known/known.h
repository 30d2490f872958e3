// Which bytes of the simulated GPUs' memory hold what they would hold on a GPU: those that a copy from the host or a
// fill wrote, or an operator that was carried out on known bytes. All others are *unknown*. libtapelens_gpu.so keeps
// count of them; the probe, which sees the operators, finds this table with dlsym(RTLD_DEFAULT, kKnownTable).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

inline constexpr const char* kKnownTable = "tapelens_gpu_known";
inline constexpr uint32_t kKnownVersion = 1;

struct KnownTable {
  uint32_t version;  // kKnownVersion
  // False for what is no memory of a GPU.
  bool (*is_known)(const void* memory, size_t bytes);
  void (*set_known)(void* memory, size_t bytes, bool known);
  // From now on called, on the thread that copies, for each copy to the host of bytes that are not all known.
  void (*watch_reads)(void (*read)(size_t bytes));
};

}  // namespace tapelens::simulated
