// What the driver handed out, to whomever: from when to when, where, and who asked (`tapelens record --cupti`).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

struct Taken {
  int64_t begin, end;  // ns; kNever.ns: to the end
  uint64_t address;    // of physical memory, where it was first mapped; 0: nowhere
  int64_t bytes;
  model::OutsideMemory memory;
  model::StringId library;  // none: not known
  model::OperatorId op;     // that ran on the thread that asked; none: none, or not known
};

// Of one device, whenever it was told; in no order. `unmatched` is raised by frees of what is not known.
std::vector<Taken> taken_of(const model::Process& process, model::DeviceId device, uint64_t& unmatched);

// What the pools of a device (cudaMallocAsync) had, a change for each time that it was told and was another.
struct PoolChange {
  int64_t time;              // ns
  int64_t reserved, unused;  // bytes more than before, or less; `unused` is a part of `reserved`
};
std::vector<PoolChange> pool_changes(const model::Process& process, model::DeviceId device);  // in the order of time

}  // namespace tapelens::peak
