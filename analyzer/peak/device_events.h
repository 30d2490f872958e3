// The memory events of one device whose allocator reports blocks. The tables of a process become one sequence in order
// of time. Within one nanosecond, frees come first, then segments, then blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

using namespace model;

struct DeviceEvent {
  // Events of one time have this order.
  enum class Kind : uint8_t { request_free, free, segment, out_of_memory, allocate };
  Kind kind = Kind::free;
  uint32_t row = 0;  // AllocationId; SegmentEventId; OutOfMemoryId
  Time time;
};

class DeviceEvents {
 public:
  DeviceEvents(const Process& process, DeviceId device);

  // None: no more events.
  std::optional<DeviceEvent> next();
  // The block of an allocation of this device; none: no block.
  DeviceBlockId block_of(AllocationId allocation) const;

 private:
  bool is_mine(AllocationId allocation) const;
  void skip();

  const Process& p_;
  const DeviceId device_;
  std::vector<uint32_t> block_of_;  // by allocation
  std::vector<bool> is_asked_;      // by allocation: the program freed it
  // The next row of each table for this device.
  uint32_t block_ = 1, request_ = 1, free_ = 1, segment_ = 1, failure_ = 1;
};

}  // namespace tapelens::peak
