// Hashes for the caches of a thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::observe {

// The slot in a direct-mapped cache with `slots` slots, a power of two.
inline size_t slot_of(uint64_t key, size_t slots) { return (key * 0x9e3779b97f4a7c15ULL) >> 40 & (slots - 1); }
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
  return hash ^ hash >> 32;
}

}  // namespace tapelens::observe
