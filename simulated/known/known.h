// What the probe asks libtapelens_gpu.so, which it finds with dlsym(RTLD_DEFAULT, kKnownTable): what the run did that
// PyTorch does not tell of.
//
// Which bytes of the simulated GPUs' memory hold what they would hold on a GPU: those that a copy from the host or a
// fill wrote, or an operator that was carried out on known bytes. All others are *unknown*. libtapelens_gpu.so keeps
// count of them; the probe sees the operators.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

inline constexpr const char* kKnownTable = "tapelens_gpu_known";
inline constexpr uint32_t kKnownVersion = 3;

struct KnownTable {
  uint32_t version;  // kKnownVersion
  // False for what is no memory of a GPU.
  bool (*is_known)(const void* memory, size_t bytes);
  void (*set_known)(void* memory, size_t bytes, bool known);
  // From now on called, on the thread that copies, for each copy to the host of bytes that are not all known. Answers
  // whether the program reads them; without an answer every such copy is the program's.
  void (*watch_reads)(bool (*read)(size_t bytes));
  // Called for each communicator of NCCL that is made, on the thread that makes it, and here for those that were made
  // before: the GPU, as the process counts them, and of how many ranks the communicator is (0: not known).
  void (*watch_communicators)(void (*made)(int device, int ranks));
};

}  // namespace tapelens::simulated
