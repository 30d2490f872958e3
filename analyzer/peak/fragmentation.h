// Explains the reserved memory outside blocks: free pieces that are too small for every request, and segments that the
// allocator cannot free because of a live block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/holders.h"

namespace tapelens::peak {

struct Fragmentation {
  Bytes empty;     // segments without a block, which torch.cuda.empty_cache() frees
  Bytes unusable;  // pieces smaller than any request of the program to that stream and pool
  // Allocations of one holder, module and stack.
  struct Group {
    size_t member = 0;  // the largest one, in PeakSet::members
    uint64_t allocations = 0;
    Bytes bytes;
  };
  // The unused memory of segments that the allocator cannot release, and the allocations in them. Each segment is in
  // one hole. The first group of a hole has allocations in all of its segments. Expandable segments are in no hole:
  // they free unused pages, so an allocation holds little memory in place.
  struct Hole {
    uint64_t segments = 0;
    Bytes unused;
    std::vector<Group> groups;  // after the first: the most bytes first
  };
  std::vector<Hole> holes;  // the most unused bytes first
};

// `set` and `segments` describe the same moment. The result has at most `most_holes` holes.
Fragmentation fragmentation(const Process& process, const Text& text, const PeakSet& set,
                            std::span<const SegmentAt> segments, size_t most_holes);

}  // namespace tapelens::peak
