// The live bytes of a device over time: every allocation and free of a process in the order of time.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/sorted_times.h"

namespace tapelens::peak {

using namespace model;

// A point between two events of a process. A time is not precise enough, because one nanosecond may have several
// events.
struct Moment {
  Time time;                     // time of the last event before it
  AllocationId last_allocation;  // this allocation and all earlier ones have happened
  FreeId last_free;              // this free and all earlier ones have happened

  // Alive: allocated, not freed.
  bool holds(const Process& process, AllocationId allocation) const {
    if (allocation > last_allocation) return false;
    const FreeId free = process.allocations.free[allocation];
    return !free || free > last_free;
  }
};

// The moment after all events of the process at `time` or earlier.
Moment moment_at(const Process& process, Time time);

struct DevicePeak {
  DeviceId device;
  Bytes peak;
  Moment when;
  uint64_t allocations = 0, frees = 0;
  Bytes live_at_end;
};

// One peak for each device that the process allocated on, in order of device ids. Sums exclude foreign memory. Frees
// come before allocations of the same nanosecond, unless they free one of those allocations.
std::vector<DevicePeak> device_peaks(const Process& process);

// One device's curve. Answers questions about any interval.
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
  // The largest live sum at any moment of [begin, end), including the allocations alive at its begin. The first, if
  // several.
  Extreme largest(Interval interval) const;

  struct Totals {
    uint64_t allocations = 0;
    Bytes bytes;
  };
  // Allocations in [begin, end), freed or not.
  Totals allocated(Interval interval) const;

  // The curve as rows from 0: one for each event of this device, with the bytes live after it. Blocks of rows store
  // their maximum.
  static constexpr uint32_t kBlock = 64;
  uint32_t events() const { return static_cast<uint32_t>(live_.size()); }
  Bytes live_after(uint32_t event) const { return Bytes{live_[event]}; }
  Bytes most_of_block(uint32_t block) const { return Bytes{blocks_[block].most}; }
  // `from`: an event at or before the answer; a nearer one is faster.
  uint32_t first_at_or_after(Time time, uint32_t from = 0) const {
    return static_cast<uint32_t>(time_.at_or_after(time.ns, from));
  }
  Time time_of(uint32_t event) const { return Time{time_[event]}; }
  bool is_allocation(uint32_t event) const { return is_allocation_[event] != 0; }  // else a free
  AllocationId allocation_of(uint32_t event) const {  // the allocation that the event allocates or frees
    return is_allocation(event) ? AllocationId{last_allocation_[event]} : process_.frees.of[FreeId{last_free_[event]}];
  }
  Bytes live_after_first(uint32_t events) const { return Bytes{events == 0 ? 0 : live_[events - 1]}; }
  // The number of events, in [first, last], after which the most bytes are alive; the smallest number, if several.
  uint32_t most_after(uint32_t first, uint32_t last) const;
  Moment moment_after(uint32_t event) const { return moment(event + 1); }
  Moment moment_after_first(uint32_t events) const { return moment(events); }
  // events() if the allocation is not on this device. `from`: as above.
  uint32_t event_of(AllocationId allocation, uint32_t from = 0) const {
    return find(last_allocation_, allocation.value, 1, from);
  }
  uint32_t event_of(FreeId free, uint32_t from = 0) const { return find(last_free_, free.value, 0, from); }

 private:
  struct Block {
    int64_t most;          // most live bytes after any of its events
    uint32_t allocations;  // allocations of all blocks before it
    int64_t bytes;         // bytes of all blocks before it
  };
  uint32_t find(const std::vector<uint32_t>& last, uint32_t row, uint8_t is_allocation, uint32_t from) const;
  Totals allocated_before(uint32_t event) const;
  Moment moment(uint32_t events) const;

  const Process& process_;
  // One row an event of this device, in order.
  SortedTimes time_;
  std::vector<int64_t> live_;
  std::vector<uint32_t> last_allocation_, last_free_;
  std::vector<uint8_t> is_allocation_;
  std::vector<Block> blocks_;
};

// Returns Timeline::largest of each interval, for callers that do not need a Timeline. It takes one pass over the
// events, without a Timeline's memory. The intervals are in order and do not overlap.
std::vector<Bytes> largest_of_each(const Process& process, DeviceId device, const std::vector<Interval>& intervals);

}  // namespace tapelens::peak
