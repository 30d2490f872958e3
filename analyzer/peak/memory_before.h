// The memory of a device's allocator at the begin of an imported snapshot's history: the recording's first moment has
// it. A recording of a program has no such memory.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"
#include "analyzer/model/model.h"

namespace tapelens::peak {

using namespace model;

// By address, as CachingAllocator::adopt() wants it; blocks have the numbers of their allocations. None: blocks lie
// over each other or outside of segments.
using MemoryBefore = std::optional<std::vector<allocator::CachingAllocator::Segment>>;
MemoryBefore memory_before(const Process& process, DeviceId device, const allocator::Settings& settings);

// Whether a row of that time is of it.
inline bool is_before(const Process& process, Time time) { return process.is_imported && time.ns == 0; }

}  // namespace tapelens::peak
