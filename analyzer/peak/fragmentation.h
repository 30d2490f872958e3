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
  // Allocations of one holder, module and stack, whose segments have unused bytes; the most unused bytes first. A
  // segment with several such groups counts for each group. Expandable segments do not count: they free unused pages,
  // so an allocation holds little memory in place.
  struct Pin {
    size_t member = 0;  // the largest one, in PeakSet::members
    uint64_t allocations = 0, segments = 0;
    Bytes bytes, unused;
  };
  std::vector<Pin> pins;
};

// `set` and `segments` describe the same moment. The result has at most `most_pins` pins.
Fragmentation fragmentation(const Process& process, const Text& text, const PeakSet& set,
                            std::span<const SegmentAt> segments, size_t most_pins);

}  // namespace tapelens::peak
