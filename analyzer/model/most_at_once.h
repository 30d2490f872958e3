// The most bytes that are alive at one time, from the lifetimes of allocations.
#pragma once

#include <map>
#include <set>
#include <utility>
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

// The lines whose allocations have at least so many bytes at one time.
template <class Line>
std::set<Line> lines_with_at_least(Bytes least, std::map<Line, std::vector<Presence>> by_line) {
  std::set<Line> large;
  for (auto& [line, presences] : by_line) {
    if (most_at_once(std::move(presences)) >= least) large.insert(line);
  }
  return large;
}

}  // namespace tapelens::model
