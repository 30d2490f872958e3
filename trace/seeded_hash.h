// Hashes that differ from process to process: the author of a file cannot choose keys that collide. No result may
// depend on a hash, nor on the order of a table that uses one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapelens::trace {

// Drawn once per process.
uint64_t hash_seed();

// Each bit of the key reaches each bit of the result.
inline uint64_t seeded_hash(uint64_t key, uint64_t seed) {
  key ^= seed;
  key = (key ^ key >> 32) * 0xd6e8feb86659fd93ULL;
  key = (key ^ key >> 32) * 0xd6e8feb86659fd93ULL;
  return key ^ key >> 32;
}

// For tables with text keys.
struct SeededHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const;
};

}  // namespace tapelens::trace
