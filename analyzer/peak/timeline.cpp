#include "analyzer/peak/timeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/model/column.h"

namespace tapelens::peak {

namespace {

// Calls allocated(id) and freed(row, id) for every event of the process in the order of time.
template <class Allocated, class Freed>
void replay(const Process& p, Allocated allocated, Freed freed) {
  const uint32_t allocations = p.allocations.rows(), frees = p.frees.rows();
  const uint64_t* times = p.allocations.time.raw.data();
  const uint64_t* free_times = p.frees.time.raw.data();
  const uint32_t* of = p.frees.of.raw.data();
  uint32_t free = 1;
  for (uint32_t id = 1; id <= allocations; ++id) {
    while (free <= frees && free_times[free] <= times[id] && of[free] < id) {
      freed(free, of[free]);
      ++free;
    }
    allocated(id);
  }
  for (; free <= frees; ++free) freed(free, of[free]);
}

bool counts(const Process& p, uint32_t id) {
  return p.allocations.origin.raw[id] == static_cast<uint8_t>(Origin::allocator);
}

// False for a free without an allocation, or of an allocation that an earlier row freed.
bool is_its_free(const Process& p, uint32_t row, uint32_t id) { return id != 0 && p.allocations.free.raw[id] == row; }

}  // namespace

Moment moment_at(const Process& p, Time time) {
  const auto rows_until = [&](const std::vector<uint64_t>& times) {
    const auto after = std::upper_bound(times.begin() + 1, times.end(), static_cast<uint64_t>(time.ns));
    return static_cast<uint32_t>(after - times.begin()) - 1;
  };
  return {time, AllocationId{rows_until(p.allocations.time.raw)}, FreeId{rows_until(p.frees.time.raw)}};
}

std::vector<DevicePeak> device_peaks(const Process& p) {
  struct Running {
    int64_t live = 0, peak = -1;
    uint32_t last_allocation = 0, last_free = 0;
    uint64_t allocations = 0, frees = 0;
  };
  std::array<Running, 256> devices{};
  const uint8_t* device = p.allocations.device.raw.data();
  const uint64_t* bytes = p.allocations.bytes.raw.data();
  uint32_t last_free = 0;
  replay(
      p,
      [&](uint32_t id) {
        if (!counts(p, id)) return;
        Running& d = devices[device[id]];
        ++d.allocations;
        d.live += static_cast<int64_t>(bytes[id]);
        if (d.live > d.peak) {
          d.peak = d.live;
          d.last_allocation = id;
          d.last_free = last_free;
        }
      },
      [&](uint32_t row, uint32_t id) {
        last_free = row;
        if (!is_its_free(p, row, id) || !counts(p, id)) return;
        Running& d = devices[device[id]];
        ++d.frees;
        d.live -= static_cast<int64_t>(bytes[id]);
      });
  std::vector<DevicePeak> peaks;
  for (uint32_t id = 0; id < devices.size(); ++id) {
    const Running& d = devices[id];
    if (d.allocations == 0) continue;
    const AllocationId last{d.last_allocation};
    peaks.push_back({DeviceId{id}, Bytes{d.peak}, Moment{p.allocations.time[last], last, FreeId{d.last_free}},
                     d.allocations, d.frees, Bytes{d.live}});
  }
  return peaks;
}

std::vector<Bytes> largest_of_each(const Process& p, DeviceId device, const std::vector<Interval>& intervals) {
  std::vector<Bytes> most;
  most.reserve(intervals.size());
  const uint64_t* bytes = p.allocations.bytes.raw.data();
  bool is_begun = false;  // whether the first interval without an answer has begun
  int64_t live = 0, here = 0;
  const auto end_interval = [&] { most.push_back(Bytes{std::exchange(is_begun, false) ? here : live}); };
  const auto change = [&](uint64_t time, int64_t by) {
    const Time now{static_cast<int64_t>(time)};
    while (most.size() < intervals.size() && now >= intervals[most.size()].end) end_interval();
    if (most.size() < intervals.size() && now >= intervals[most.size()].begin) {
      here = std::max(std::exchange(is_begun, true) ? here : live, live + by);
    }
    live += by;
  };
  const auto is_mine = [&](uint32_t id) { return p.allocations.device.raw[id] == device.value && counts(p, id); };
  replay(
      p,
      [&](uint32_t id) {
        if (is_mine(id)) change(p.allocations.time.raw[id], static_cast<int64_t>(bytes[id]));
      },
      [&](uint32_t row, uint32_t id) {
        if (is_its_free(p, row, id) && is_mine(id)) change(p.frees.time.raw[row], -static_cast<int64_t>(bytes[id]));
      });
  while (most.size() < intervals.size()) end_interval();
  return most;
}

Timeline::Timeline(const Process& process, DeviceId device) : process_(process) {
  const auto mine = [&](uint32_t id) {
    return process.allocations.device.raw[id] == device.value && counts(process, id);
  };
  const size_t guess = size_t{process.allocations.rows()} + process.frees.rows();
  time_.reserve(guess);
  reserve_large(live_, guess);
  reserve_large(last_allocation_, guess);
  reserve_large(last_free_, guess);
  is_allocation_.reserve(guess);
  int64_t live = 0;
  uint32_t last_allocation = 0, last_free = 0, allocations = 0;
  int64_t allocated = 0;
  const auto push = [&](uint64_t time, bool is_allocation) {
    if (time_.size() % kBlock == 0) blocks_.push_back({live, allocations, allocated});
    time_.push_back(static_cast<int64_t>(time));
    live_.push_back(live);
    last_allocation_.push_back(last_allocation);
    last_free_.push_back(last_free);
    is_allocation_.push_back(is_allocation);
    blocks_.back().most = std::max(blocks_.back().most, live);
  };
  const uint64_t* bytes = process.allocations.bytes.raw.data();
  replay(
      process,
      [&](uint32_t id) {
        last_allocation = id;
        if (!mine(id)) return;
        live += static_cast<int64_t>(bytes[id]);
        push(process.allocations.time.raw[id], true);
        ++allocations;
        allocated += static_cast<int64_t>(bytes[id]);
      },
      [&](uint32_t row, uint32_t id) {
        last_free = row;
        if (!is_its_free(process, row, id) || !mine(id)) return;
        live -= static_cast<int64_t>(bytes[id]);
        push(process.frees.time.raw[row], false);
      });
}

namespace {

// The first value of a sorted column that is not less, from `from` on. Searches at growing distances from there.
template <class Value>
uint32_t lower_bound_from(const std::vector<Value>& column, Value value, uint32_t from) {
  size_t step = 1, low = from;
  while (low + step < column.size() && column[low + step] < value) {
    low += step;
    step *= 2;
  }
  const auto begin = column.begin() + static_cast<int64_t>(std::min(low, column.size()));
  const auto end = column.begin() + static_cast<int64_t>(std::min(column.size(), low + step + 1));
  return static_cast<uint32_t>(std::lower_bound(begin, end, value) - column.begin());
}

}  // namespace

uint32_t Timeline::find(const std::vector<uint32_t>& last, uint32_t row, uint8_t is_allocation, uint32_t from) const {
  // The counters grow along the rows; other devices' rows leave gaps in them.
  const uint32_t at = lower_bound_from(last, row, from);
  const bool is_it = row != 0 && at < events() && last[at] == row && is_allocation_[at] == is_allocation;
  return is_it ? at : events();
}

Moment Timeline::moment(uint32_t events) const {
  if (events == 0) return {};
  return {Time{time_[events - 1]}, AllocationId{last_allocation_[events - 1]}, FreeId{last_free_[events - 1]}};
}

Moment Timeline::at(Time time) const { return moment(static_cast<uint32_t>(time_.after(time.ns))); }

Bytes Timeline::live(const Moment& moment) const {
  // The events of this device up to the moment: both counters grow along the rows.
  const auto past = [&](uint32_t row) {
    return last_allocation_[row] <= moment.last_allocation.value && last_free_[row] <= moment.last_free.value;
  };
  uint32_t low = 0, high = static_cast<uint32_t>(live_.size());
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (past(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return Bytes{low == 0 ? 0 : live_[low - 1]};
}

uint32_t Timeline::most_after(uint32_t first, uint32_t last) const {
  uint32_t best = first;
  int64_t most = live_after_first(first).value;
  for (uint32_t event = first; event < last;) {
    const uint32_t block_end = std::min(last, (event / kBlock + 1) * kBlock);
    const bool whole = event % kBlock == 0 && block_end - event == kBlock;
    if (!whole || blocks_[event / kBlock].most > most) {
      for (uint32_t at = event; at < block_end; ++at) {
        if (live_[at] > most) {
          most = live_[at];
          best = at + 1;
        }
      }
    }
    event = block_end;
  }
  return best;
}

Timeline::Extreme Timeline::largest(Interval interval) const {
  const uint32_t first = first_at_or_after(interval.begin), last = std::max(first, first_at_or_after(interval.end));
  const uint32_t best = most_after(first, last);
  Moment when = moment(best);
  // The extreme of an interval is never before the interval.
  if (best == first) when.time = std::max(when.time, interval.begin);
  return {live_after_first(best), when};
}

Timeline::Totals Timeline::allocated_before(uint32_t event) const {
  if (event == 0) return {};
  const uint32_t block = std::min(event / kBlock, static_cast<uint32_t>(blocks_.size()) - 1);
  Totals totals{blocks_[block].allocations, Bytes{blocks_[block].bytes}};
  for (uint32_t at = block * kBlock; at < event; ++at) {
    if (is_allocation_[at] == 0) continue;
    ++totals.allocations;
    totals.bytes += process_.allocations.bytes[AllocationId{last_allocation_[at]}];
  }
  return totals;
}

Timeline::Totals Timeline::allocated(Interval interval) const {
  const Totals begin = allocated_before(first_at_or_after(interval.begin));
  const Totals end = allocated_before(std::max(first_at_or_after(interval.begin), first_at_or_after(interval.end)));
  return {end.allocations - begin.allocations, end.bytes - begin.bytes};
}

}  // namespace tapelens::peak
