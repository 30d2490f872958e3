// XXH3, the checksum of spools and sealed files, compiled into each file that includes this header.
#pragma once

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tapelens::trace {

inline uint64_t checksum_of(const void* bytes, size_t count) { return XXH3_64bits(bytes, count); }

// The same checksum for bytes that arrive in parts.
class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }
  void add(const void* bytes, size_t count) { XXH3_64bits_update(&state_, bytes, count); }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace tapelens::trace
