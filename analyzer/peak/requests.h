// The requests of a program to PyTorch's caching allocator of one CUDA device, in order. Also whether the model of that
// allocator (analyzer/allocator) answers them as the recorded allocator did.
//
// The comparison covers every event: the address and size of each block, each segment that is allocated or freed, with
// its bytes, and so the reserved bytes at every moment. The recording supplies everything outside the allocator's
// choice: the address of each segment, whether the device had memory, when other streams were done, and when the
// program emptied the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"
#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::peak {

using namespace model;

struct Request {
  enum class Kind : uint8_t { allocate, request_free, free, give_back, out_of_memory };
  Time time;
  uint32_t row = 0;  // AllocationId; of give_back: of DeviceRequests::pools; of out_of_memory: OutOfMemoryId
  Kind kind = Kind::allocate;
};

struct DeviceRequests {
  DeviceId device;
  std::vector<allocator::CachingAllocator::Segment> before;  // segments from before the first request; empty for a
                                                             // recording of a program
  std::vector<Request> all;
  std::vector<allocator::PoolId> pools;  // the pools that the program emptied, one entry for each time
  allocator::AllocatorSettings settings;
  uint64_t allowed = allocator::kNoLimit;  // the process's memory limit on the device

  // The difference between the model and the recording, as text; empty: none. With a difference, `all` is incomplete.
  std::string differs;
  bool is_exact() const { return differs.empty(); }
  uint64_t compared = 0;  // blocks and segment events
};

// The facts of the program's run that decide the allocator's answers.
struct AllocatorNoted {
  std::string_view settings;               // PYTORCH_CUDA_ALLOC_CONF
  std::string_view torch_version;          // empty: unknown; then the replay tries both orders of cached blocks
  uint64_t allowed = allocator::kNoLimit;  // as in DeviceRequests
  Time until = kNever;                     // the order of events is unknown from then on
};
DeviceRequests device_requests(const Process& process, const Text& text, DeviceId device, const AllocatorNoted& noted);

// ---- the memory of a device's allocator at the begin of an imported snapshot's history: the recording's first moment
// has it. A recording of a program has no such memory

// Sorted by address, as CachingAllocator::adopt() requires. Blocks have the numbers of their allocations. None: blocks
// overlap, or are outside all segments.
using MemoryBefore = std::optional<std::vector<allocator::CachingAllocator::Segment>>;
MemoryBefore memory_before(const Process& process, DeviceId device, const allocator::AllocatorSettings& settings);

// Whether a row with this time belongs to the memory before the history.
inline bool is_before(const Process& process, Time time) { return process.is_imported && time.ns == 0; }

}  // namespace tapelens::peak
