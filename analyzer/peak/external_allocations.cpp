#include "analyzer/peak/external_allocations.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tapelens::peak {
namespace {

using model::DeviceId;
using model::kNever;
using model::OutsideChange;
using model::Process;
using model::VirtualChange;

template <class Row>
struct Event {
  int64_t time;
  Row row;
};

// Events by their own time, not by the time of their record. Within one time, the order of the records stays.
template <class Table, class Predicate>
auto in_order(const Table& all, Predicate is_wanted) {
  using Row = typename Table::Id;
  std::vector<Event<Row>> events;
  for (const Row row : all.ids()) {
    if (is_wanted(row)) events.push_back({all.time[row].ns - all.age[row].ns, row});
  }
  std::ranges::stable_sort(events, {}, &Event<Row>::time);
  return events;
}

void take_memory(const Process& p, DeviceId device, std::vector<ExternalAllocation>& all, uint64_t& unmatched) {
  const auto& events = p.outside_events;
  std::unordered_map<uint64_t, size_t> alive;  // by address
  for (const auto& [time, row] : in_order(
           events, [&](auto of) { return events.change[of] != OutsideChange::ended && events.device[of] == device; })) {
    const uint64_t address = events.address[row];
    const auto found = alive.find(address);
    if (found != alive.end()) {
      all[found->second].end = time;  // ends the older allocation at this address, even if its free is missing
      alive.erase(found);
    } else if (events.change[row] == OutsideChange::freed) {
      ++unmatched;
    }
    if (events.change[row] != OutsideChange::allocated || events.bytes[row].value <= 0) continue;
    alive.emplace(address, all.size());
    all.push_back(
        {time, kNever.ns, address, events.bytes[row].value, events.memory[row], events.library[row], events.op[row]});
  }
}

// Physical memory of the driver. It lives while a handle or a mapping of it exists. Memory from before the first record
// has no known handle and is left out.
class Physical {
 public:
  Physical(const Process& p, DeviceId device, std::vector<ExternalAllocation>& all) : all_(all) {
    const auto& events = p.virtual_memory;
    for (const auto& [time, row] : in_order(events, [](auto) { return true; })) {
      const uint64_t handle = events.handle[row], address = events.address[row];
      switch (events.change[row]) {
        case VirtualChange::created:
          if (events.device[row] != device || events.bytes[row].value <= 0) break;
          if (const auto old = alive_.find(handle); old != alive_.end()) end(old, time);
          alive_.emplace(handle, Alive{all_.size(), 1});
          all_.push_back({time, kNever.ns, 0, events.bytes[row].value, model::OutsideMemory::device,
                          events.library[row], events.op[row]});
          break;
        case VirtualChange::retained:
          if (const auto found = alive_.find(handle); found != alive_.end()) ++found->second.references;
          break;
        case VirtualChange::released:
          release(handle, time);
          break;
        case VirtualChange::mapped:
          map(handle, address);
          break;
        case VirtualChange::unmapped:
          unmap(address, static_cast<uint64_t>(events.bytes[row].value), time);
          break;
      }
    }
  }

 private:
  struct Alive {
    size_t allocation;  // in all_
    uint64_t references;
  };
  using Handles = std::unordered_map<uint64_t, Alive>;

  void end(Handles::iterator of, int64_t time) {
    all_[of->second.allocation].end = time;
    alive_.erase(of);
  }
  void release(uint64_t handle, int64_t time) {
    const auto found = alive_.find(handle);
    if (found != alive_.end() && --found->second.references == 0) end(found, time);
  }
  void map(uint64_t handle, uint64_t address) {
    const auto found = alive_.find(handle);
    if (found == alive_.end() || !mapped_.emplace(address, handle).second) return;
    ++found->second.references;
    ExternalAllocation& allocation = all_[found->second.allocation];
    if (allocation.address == 0) allocation.address = address;
  }
  void unmap(uint64_t address, uint64_t bytes, int64_t time) {
    auto at = mapped_.lower_bound(address);
    while (at != mapped_.end() && at->first - address < bytes) {
      release(at->second, time);
      at = mapped_.erase(at);
    }
  }

  std::vector<ExternalAllocation>& all_;
  Handles alive_;
  std::map<uint64_t, uint64_t> mapped_;  // address to handle, of live mappings
};

}  // namespace

std::vector<ExternalAllocation> external_allocations(const Process& p, DeviceId device, uint64_t& unmatched) {
  std::vector<ExternalAllocation> all;
  take_memory(p, device, all, unmatched);
  Physical(p, device, all);
  return all;
}

std::vector<PoolDelta> pool_changes(const Process& p, DeviceId device) {
  struct Had {
    int64_t reserved = 0, unused = 0;
  };
  const auto& events = p.memory_pools;
  std::unordered_map<uint64_t, Had> pools;  // by address
  std::vector<PoolDelta> changes;
  for (const auto& [time, row] : in_order(events, [&](auto of) { return events.device[of] == device; })) {
    Had& had = pools[events.address[row]];
    const bool is_gone = events.change[row] == model::PoolChange::destroyed;
    const int64_t reserved = is_gone ? 0 : std::max<int64_t>(0, events.reserved[row].value);
    const int64_t unused = is_gone ? 0 : std::clamp<int64_t>(reserved - events.used[row].value, 0, reserved);
    if (reserved == had.reserved && unused == had.unused) continue;
    changes.push_back({time, reserved - had.reserved, unused - had.unused});
    had = {reserved, unused};
  }
  return changes;
}

}  // namespace tapelens::peak
