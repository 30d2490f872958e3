// The live bytes of a device over time: every allocation and free of a process in the order of time.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

using namespace model;

// A point between two events of a process. Times alone cannot say it: several events may fall into one nanosecond.
struct Moment {
  Time time;                     // of the last event before it
  AllocationId last_allocation;  // it and all before it have happened
  FreeId last_free;              // likewise

  // Alive: allocated, not freed.
  bool holds(const Process& process, AllocationId allocation) const {
    if (allocation > last_allocation) return false;
    const FreeId free = process.allocations.free[allocation];
    return !free || free > last_free;
  }
};

struct DevicePeak {
  DeviceId device;
  Bytes peak;
  Moment when;
  uint64_t allocations = 0, frees = 0;
  Bytes live_at_end;
};

// One for each device that the process allocated on, in the order of device ids. Foreign memory is in no sum.
// Frees come before allocations of the same nanosecond, as far as the freed memory was there.
std::vector<DevicePeak> device_peaks(const Process& process);

// One device's curve, to be asked for any interval.
class Timeline {
 public:
  Timeline(const Process& process, DeviceId device);

  // Live bytes after the last event at or before the time.
  Moment at(Time time) const;
  Bytes live(const Moment& moment) const;

  struct Extreme {
    Bytes bytes;
    Moment when;
  };
  // The largest live sum at any moment of [begin, end), what was alive at its begin included. The first, if several.
  Extreme largest(Interval interval) const;

  struct Totals {
    uint64_t allocations = 0;
    Bytes bytes;
  };
  // What was allocated in [begin, end), freed or not.
  Totals allocated(Interval interval) const;

  // The curve as rows, one each event of this device, from 0; what was live after it; blocks with their largest.
  static constexpr uint32_t kBlock = 256;
  uint32_t events() const { return static_cast<uint32_t>(live_.size()); }
  Bytes live_after(uint32_t event) const { return Bytes{live_[event]}; }
  Bytes most_of_block(uint32_t block) const { return Bytes{blocks_[block].most}; }
  uint32_t first_at_or_after(Time time) const { return before(time); }
  Moment moment_after(uint32_t event) const { return moment(event + 1); }
  // events() if it is none of this device's.
  uint32_t event_of(AllocationId allocation) const { return find(last_allocation_, allocation.value, 1); }
  uint32_t event_of(FreeId free) const { return find(last_free_, free.value, 0); }

 private:
  struct Block {
    int64_t most;          // live after any of its events
    uint32_t allocations;  // of all blocks before it
    int64_t bytes;         // likewise
  };
  // The events before the first one at or after a time.
  uint32_t before(Time time) const;
  uint32_t find(const std::vector<uint32_t>& last, uint32_t row, uint8_t is_allocation) const;
  Totals allocated_before(uint32_t event) const;
  Moment moment(uint32_t events) const;

  const Process& process_;
  // One row an event of this device, in order.
  std::vector<int64_t> time_, live_;
  std::vector<uint32_t> last_allocation_, last_free_;
  std::vector<uint8_t> is_allocation_;
  std::vector<Block> blocks_;
};

}  // namespace tapelens::peak
