// Converts the ticks of a spool's clock to nanoseconds since the recording began. Used by the sealer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapelens::trace {

// One point of time in both clocks.
struct ClockAnchor {
  uint64_t ticks;
  uint64_t ns;  // CLOCK_MONOTONIC
};

// Linear interpolation between anchors. The nearest line extends before the first and after the last anchor.
class TickClock {
 public:
  // Anchors may be in any order; an anchor that contradicts earlier ones is dropped. `now` is an anchor of the sealing
  // machine. It extends a line that is too short to be exact, if both machines may be the same.
  TickClock(std::vector<ClockAnchor> anchors, uint64_t epoch_ns, ClockAnchor now);

  // Nanoseconds since the epoch, never below 0. Fast for increasing ticks.
  uint64_t ns(uint64_t ticks) {
    while (at_ + 1 < lines_.size() && ticks >= lines_[at_ + 1].ticks) ++at_;
    while (at_ > 0 && ticks < lines_[at_].ticks) --at_;
    const Line& line = lines_[at_];
    const double ns = line.ns + static_cast<double>(static_cast<int64_t>(ticks - line.ticks)) * line.ns_per_tick;
    if (!(ns > 0)) return 0;
    return static_cast<uint64_t>(ns < kMost ? ns + 0.5 : kMost);  // NOLINT(bugprone-incorrect-roundings): ns > 0
  }

 private:
  static constexpr double kMost = 9.0e18;
  struct Line {
    uint64_t ticks;
    double ns;  // since the epoch
    double ns_per_tick;
  };
  std::vector<Line> lines_;
  size_t at_ = 0;
};

}  // namespace tapelens::trace
