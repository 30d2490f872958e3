// Memory that PyTorch's allocator of a device held besides the requested bytes. It consists of the blocks around those
// bytes, freed blocks that other streams still used, and segments of the device.
//
// The terms are those of torch.cuda.memory_stats. A block is *allocated* from its allocation until the program frees
// it. It is *active* until no stream uses it any more. Segments are *reserved*. Tapelens counts the requested bytes of
// active blocks as alive (requested_bytes).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

// Each value holds from its time on; 0 before the first time. Of several values at one time, the last holds.
struct StepCurve {
  SortedTimes time;
  std::vector<int64_t> value;

  int64_t at(Time when) const;
  void add(Time when, int64_t change);
};

struct DeviceMemory {
  StepCurve allocated, waiting, reserved;  // bytes; active is allocated and waiting
  Bytes allocated_peak, active_peak, reserved_peak;
  uint64_t segments = 0;  // number of allocated segments, without expandable ones
};
// Empty if the device's allocator reports no blocks.
DeviceMemory device_memory(const Process& process, DeviceId device);

struct BlockAt {
  AllocationId allocation;
  uint64_t address = 0;
  Bytes rounded;
  bool waits = false;  // freed by the program, still used by a stream
};

// A contiguous range of the device's memory.
struct SegmentAt {
  uint64_t address = 0;
  Bytes bytes;
  uint64_t stream = 0;
  uint32_t graph_pool = 0, user_pool = 0;
  bool is_expandable = false;
  std::vector<BlockAt> blocks;  // by address
  Bytes used;                   // bytes of the blocks
  Bytes largest_hole;           // the longest range without a block
};

// Sorted by address. A damaged recording may have blocks outside all segments; the result omits them.
std::vector<SegmentAt> segments_at(const Process& process, DeviceId device, const Moment& when);

// For each request of the device that found no memory, in order: the longest range of a segment without a block.
std::vector<Bytes> largest_holes_out_of_memory(const Process& process, DeviceId device);

}  // namespace tapelens::peak
