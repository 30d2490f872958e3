// The bytes that a device's allocator would have reserved for the requests of a recording: under other settings, with
// some findings fixed, on a card of another size. Valid only if the model is exact (DeviceRequests::is_exact).
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/peak/replay.h"
#include "analyzer/peak/requests.h"

namespace tapelens::peak {

struct ReservedSettings {
  allocator::AllocatorSettings settings;
  uint64_t card = allocator::kNoLimit;     // capacity for segments in bytes
  uint64_t allowed = allocator::kNoLimit;  // as in DeviceRequests
};

struct ReservedOutcome {
  Bytes peak;
  Time when;  // its first moment
  // The first request that found no memory. If that request succeeded in the recording, the replay ends there.
  struct Failure {
    Request request;
    Bytes bytes;     // the block's size
    Bytes reserved;  // after the allocator freed all cached segments
  };
  std::optional<Failure> failed;
  // Requests that failed in the recording and succeed here. The program's use of that memory is unknown, so they are
  // freed at once.
  uint64_t served = 0;
};

class ReservedReplay {
 public:
  ReservedReplay(const Process& process, const DeviceRequests& requests) : p_(process), requests_(requests) {}

  // `changed`: lives other than recorded, and the memory that replaces allocations.
  ReservedOutcome run(const ReservedSettings& settings, const Replayed* changed = nullptr) const;

 private:
  const Process& p_;
  const DeviceRequests& requests_;
};

}  // namespace tapelens::peak
