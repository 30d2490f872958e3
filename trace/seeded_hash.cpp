#include "trace/seeded_hash.h"

#include <sys/random.h>
#include <time.h>

#include "trace/checksum.h"

namespace tapelens::trace {

uint64_t hash_seed() {
  static const uint64_t seed = [] {
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) == sizeof(drawn)) return drawn;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_nsec) ^ reinterpret_cast<uintptr_t>(&drawn);
  }();
  return seed;
}

size_t SeededHash::operator()(std::string_view text) const {
  static const uint64_t seed = hash_seed();
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace tapelens::trace
