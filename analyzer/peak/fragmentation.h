// Why memory that a device's allocator reserved is in no block: pieces that no request is small enough for, and
// segments that cannot be given back since something lies in them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/holders.h"

namespace tapelens::peak {

struct Fragmentation {
  Bytes empty;     // segments without a block: torch.cuda.empty_cache() gives them back
  Bytes unusable;  // pieces that are smaller than any request that the program made of that stream and pool
  // Allocations of one holder, module and stack, in whose segments bytes are unused; those of most bytes first. A
  // segment in which several lie counts for each of them. Of segments that are expandable pages are given back, so that
  // little is held in place: these are not counted.
  struct Pin {
    size_t member = 0;  // of PeakSet::members: the largest of them
    uint64_t allocations = 0, segments = 0;
    Bytes bytes, unused;
  };
  std::vector<Pin> pins;
};

// `set` and `segments` describe the same moment. The result has at most `most_pins` pins.
Fragmentation fragmentation(const Process& process, const Text& text, const PeakSet& set,
                            std::span<const SegmentAt> segments, size_t most_pins);

}  // namespace tapelens::peak
