// The properties of a device: those of its type, and those that the recording shows. A new type of device is a row of
// the table in device_traits.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/types.h"

namespace tapelens::model {

struct Process;
struct Text;

struct DeviceType {
  std::string_view name = {};          // PyTorch's, as "cuda"; "pinned" for pinned memory of the host; empty: unknown
  bool is_host = false;                // memory of the machine
  bool is_pageable = false;            // the process's own memory, which its resident size (RSS) counts
  bool is_cuda = false;                // the kernels, the libraries and the numbering of CUDA (and of ROCm)
  bool has_caching_allocator = false;  // reserves more memory than it hands out
  bool has_segments = false;           // a memory snapshot has the segments of its allocator
  bool is_modelled = false;            // by analyzer/allocator, so that `tapelens advise` can say what fits
  // Keys of the recording's information; empty: none. The number of the device follows the first two.
  std::string_view memory = {}, memory_allowed = {};  // bytes of the device, and the limit of the program on it
  std::string_view memory_of_each = {};               // bytes of each device of the type
};

// The type of "cuda:1" is "cuda". An unknown type has a caching allocator that reports segments, and nothing of CUDA.
const DeviceType& device_type(std::string_view device);
// 1 for "cuda:1"; none unless exactly a number follows the first colon.
std::optional<uint32_t> device_number(std::string_view device);

// One device of a process.
struct DeviceTraits {
  const DeviceType* type = &device_type("");
  bool has_blocks = false;    // its allocator reports blocks
  bool has_segments = false;  // its allocator reports segments; otherwise the reserved bytes are unknown

  // A device whose allocator reports blocks, except pinned memory of the host.
  bool is_gpu() const { return has_blocks && !type->is_host; }
};
// Of each possible device, by id. Linear in the blocks and segments of the process.
std::vector<DeviceTraits> device_traits(const Process& process, const Text& text);

}  // namespace tapelens::model
