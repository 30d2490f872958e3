// Allocations of the driver for any library: lifetime, address and requester (`tapelens record --cupti`).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

struct ExternalAllocation {
  int64_t begin, end;  // ns; kNever.ns: to the end
  uint64_t address;    // first mapped address of physical memory; 0: never mapped
  int64_t bytes;
  model::OutsideMemory memory;
  model::StringId library;  // none: unknown
  model::OperatorId op;     // operator on the requesting thread; none: no operator, or unknown
};

// All allocations of one device, in no order. `unmatched` counts frees without a known allocation.
std::vector<ExternalAllocation> external_allocations(const model::Process& process, model::DeviceId device,
                                                     uint64_t& unmatched);

// A change of the memory of a device's pools (cudaMallocAsync); equal records in a row are left out.
struct PoolDelta {
  int64_t time;              // ns
  int64_t reserved, unused;  // change in bytes; `unused` is a part of `reserved`
};
std::vector<PoolDelta> pool_changes(const model::Process& process, model::DeviceId device);  // in the order of time

}  // namespace tapelens::peak
