#include "analyzer/peak/device_events.h"

#include <algorithm>

namespace tapelens::peak {

DeviceEvents::DeviceEvents(const Process& process, DeviceId device)
    : p_(process),
      device_(device),
      block_of_(process.allocations.rows() + 1),
      is_asked_(process.allocations.rows() + 1) {
  for (uint32_t row = 1; row <= p_.device_blocks.rows(); ++row) block_of_[p_.device_blocks.allocation.raw[row]] = row;
}

DeviceBlockId DeviceEvents::block_of(AllocationId allocation) const {
  return DeviceBlockId{block_of_[allocation.value]};
}

bool DeviceEvents::is_mine(AllocationId id) const {
  return id && block_of_[id.value] != 0 && p_.allocations.device[id] == device_;
}

void DeviceEvents::skip() {
  const auto is_request = [&](uint32_t row) {
    const AllocationId of{p_.free_requests.of.raw[row]};
    return is_mine(of) && !is_asked_[of.value];
  };
  const auto is_free = [&](uint32_t row) {
    const AllocationId of{p_.frees.of.raw[row]};
    return is_mine(of) && p_.allocations.free[of] == FreeId{row};
  };
  while (block_ <= p_.device_blocks.rows() && !is_mine(AllocationId{p_.device_blocks.allocation.raw[block_]})) ++block_;
  while (request_ <= p_.free_requests.rows() && !is_request(request_)) ++request_;
  while (free_ <= p_.frees.rows() && !is_free(free_)) ++free_;
  while (segment_ <= p_.segment_events.rows() && p_.segment_events.device[SegmentEventId{segment_}] != device_) {
    ++segment_;
  }
  while (failure_ <= p_.out_of_memory.rows() && p_.out_of_memory.device[OutOfMemoryId{failure_}] != device_) {
    ++failure_;
  }
}

std::optional<DeviceEvent> DeviceEvents::next() {
  using Kind = DeviceEvent::Kind;
  skip();
  std::optional<DeviceEvent> first;
  const auto offer = [&](Kind kind, uint32_t row, Time time) {
    if (!first || time < first->time || (time == first->time && kind < first->kind)) first = {kind, row, time};
  };
  AllocationId next_allocation{UINT32_MAX};
  if (block_ <= p_.device_blocks.rows()) {
    next_allocation = p_.device_blocks.allocation[DeviceBlockId{block_}];
    offer(Kind::allocate, next_allocation.value, p_.allocations.time[next_allocation]);
  }
  // A free comes after its allocation.
  if (request_ <= p_.free_requests.rows() && p_.free_requests.of.raw[request_] < next_allocation.value) {
    offer(Kind::request_free, p_.free_requests.of.raw[request_], p_.free_requests.time[FreeRequestId{request_}]);
  }
  if (free_ <= p_.frees.rows() && p_.frees.of.raw[free_] < next_allocation.value) {
    offer(Kind::free, p_.frees.of.raw[free_], p_.frees.time[FreeId{free_}]);
  }
  if (segment_ <= p_.segment_events.rows()) {
    offer(Kind::segment, segment_, p_.segment_events.time[SegmentEventId{segment_}]);
  }
  if (failure_ <= p_.out_of_memory.rows()) {
    offer(Kind::out_of_memory, failure_, p_.out_of_memory.time[OutOfMemoryId{failure_}]);
  }
  if (!first) return first;
  switch (first->kind) {
    case Kind::allocate:
      ++block_;
      break;
    case Kind::request_free:
      is_asked_[first->row] = true;
      ++request_;
      break;
    case Kind::free:
      ++free_;
      break;
    case Kind::segment:
      ++segment_;
      break;
    case Kind::out_of_memory:
      ++failure_;
      break;
  }
  return first;
}

}  // namespace tapelens::peak
