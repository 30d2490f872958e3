// The memory of a device's allocator at the begin of an imported snapshot's history: the recording's first moment has
// it. A recording of a program has no such memory.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"
#include "analyzer/model/model.h"

namespace tapelens::peak {

using namespace model;

// Sorted by address, as CachingAllocator::adopt() requires. Blocks have the numbers of their allocations. None: blocks
// overlap, or are outside all segments.
using MemoryBefore = std::optional<std::vector<allocator::CachingAllocator::Segment>>;
MemoryBefore memory_before(const Process& process, DeviceId device, const allocator::Settings& settings);

// Whether a row with this time belongs to the memory before the history.
inline bool is_before(const Process& process, Time time) { return process.is_imported && time.ns == 0; }

}  // namespace tapelens::peak
