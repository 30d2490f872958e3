// The most bytes that are alive at one time, from the lifetimes of allocations.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::model {

// Bytes that are alive for an interval. The end is exclusive; kNever: the bytes stay.
struct Presence {
  AllocationId allocation;  // none: counts as a separate allocation
  Bytes bytes;
  Interval when;
};

// The largest sum at one time. An allocation counts once if several of its intervals overlap.
Bytes most_at_once(std::vector<Presence> presences);

}  // namespace tapelens::model
