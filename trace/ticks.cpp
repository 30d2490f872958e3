// See ticks.h.
#include "trace/ticks.h"

#include <algorithm>
#include <cmath>

namespace tapelens::trace {
namespace {

// An anchor is exact to some tens of nanoseconds, so shorter lines have an inexact slope.
constexpr uint64_t kShortestLine = 1'000'000;
// The last line extends to all later ticks. If a recording's anchors span less than this, the sealer's clock extends
// it.
constexpr uint64_t kSpanThatIsEnough = 1'000'000'000;

double slope(const ClockAnchor& a, const ClockAnchor& b) {
  return static_cast<double>(b.ns - a.ns) / static_cast<double>(b.ticks - a.ticks);
}

// Counters run at 1 MHz to 10 GHz.
bool is_plausible_slope(double ns_per_tick) { return ns_per_tick >= 0.1 && ns_per_tick <= 1000; }

}  // namespace

TickClock::TickClock(std::vector<ClockAnchor> anchors, uint64_t epoch_ns, ClockAnchor now) {
  std::sort(anchors.begin(), anchors.end(), [](auto& a, auto& b) { return a.ticks < b.ticks; });
  std::vector<ClockAnchor> kept;
  for (const ClockAnchor& anchor : anchors) {
    if (!kept.empty()) {
      const ClockAnchor& last = kept.back();
      if (anchor.ticks <= last.ticks || anchor.ns < last.ns + kShortestLine) continue;
      if (!is_plausible_slope(slope(last, anchor))) continue;
    }
    kept.push_back(anchor);
  }
  if (kept.empty()) kept.push_back(anchors.empty() ? ClockAnchor{0, epoch_ns} : anchors.front());
  const ClockAnchor first = kept.front();
  if (now.ticks > first.ticks && now.ns > kept.back().ns + kShortestLine && now.ticks > kept.back().ticks &&
      kept.back().ns - first.ns < kSpanThatIsEnough) {
    const double long_slope = slope(first, now);
    const bool fits =
        kept.size() == 1 ? is_plausible_slope(long_slope) : std::abs(long_slope / slope(first, kept.back()) - 1) < 0.01;
    if (fits) kept.push_back(now);
  }
  const auto since_epoch = [&](const ClockAnchor& anchor) {
    return static_cast<double>(static_cast<int64_t>(anchor.ns - epoch_ns));
  };
  for (size_t i = 0; i + 1 < kept.size(); ++i)
    lines_.push_back({kept[i].ticks, since_epoch(kept[i]), slope(kept[i], kept[i + 1])});
  if (lines_.empty()) lines_.push_back({kept[0].ticks, since_epoch(kept[0]), 1.0});
}

}  // namespace tapelens::trace
