// What a program asked of PyTorch's caching allocator of one CUDA device, in its order; and whether the model of that
// allocator (analyzer/allocator), asked the same, does what the recording says that PyTorch's did.
//
// Compared is every event: each block's address and size, each segment that is taken from the device or given back,
// with its bytes, and so the reserved bytes at every moment. Taken from the recording is what is not the allocator's
// choice: where the device put a segment, whether it had memory, when other streams were done, and when the program
// emptied the cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"
#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/memory_before.h"

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
  std::vector<allocator::CachingAllocator::Segment> before;  // what there was before the first; of a recording nothing
  std::vector<Request> all;
  std::vector<allocator::PoolId> pools;  // that the program emptied, one an entry
  allocator::Settings settings;
  uint64_t allowed = allocator::kNoLimit;  // what the process might have of the device

  // Why the model differs from the recording, in words; empty: it does not. `all` is not whole if it does.
  std::string differs;
  bool is_exact() const { return differs.empty(); }
  uint64_t compared = 0;  // blocks and segment events
};

// What of the program's run decides how the allocator answers.
struct AllocatorNoted {
  std::string_view settings;               // PYTORCH_CUDA_ALLOC_CONF
  std::string_view torch_version;          // empty: not known, and both orders of cached blocks are tried
  uint64_t allowed = allocator::kNoLimit;  // as in DeviceRequests
  Time until = kNever;                     // from then on the order of what happened is not known
};
DeviceRequests device_requests(const Process& process, const Text& text, DeviceId device, const AllocatorNoted& noted);

}  // namespace tapelens::peak
