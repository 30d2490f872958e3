// How many bytes are there at once, of things that are there for a while each.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::model {

// Bytes that are there, or not there, from one moment to another. The end is not of it; kNever: they stay.
struct Presence {
  AllocationId allocation;  // none: of no other's
  Bytes bytes;
  Interval when;
};

// The largest sum at one moment. An allocation counts once while any of its presences goes on.
Bytes most_at_once(std::vector<Presence> presences);

}  // namespace tapelens::model
