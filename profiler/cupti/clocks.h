// One point of time in two clocks.
#pragma once

#include <time.h>

#include <cstdint>

namespace tapelens::cupti {

inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

template <class Value>
struct ClockPair {
  uint64_t ns = 0;  // CLOCK_MONOTONIC
  Value other{};
};

// Reads both clocks in turn; a thread that was preempted in between reads them again.
template <class Read>
auto same_moment(Read read) -> ClockPair<decltype(read())> {
  constexpr uint64_t kClose = 20'000;
  ClockPair<decltype(read())> best;
  uint64_t closest = UINT64_MAX;
  for (int tries = 0; tries < 16 && closest > kClose; ++tries) {
    const uint64_t before = monotonic_ns();
    const auto other = read();
    const uint64_t between = monotonic_ns() - before;
    if (between >= closest) continue;
    closest = between;
    best = {before + between / 2, other};
  }
  return best;
}

}  // namespace tapelens::cupti
