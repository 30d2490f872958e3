#include "analyzer/fit/search.h"

#include <algorithm>

namespace tapelens::fit {
namespace {

constexpr uint64_t kFirstStride = 4;  // from the smallest size to the second one; the line goes through their peaks

// Indices in series.sizes: those in [low, high) are open, except for sizes whose run failed.
struct Bracket {
  size_t low, high;
};

size_t place_of(const Series& series, uint64_t size) {
  return static_cast<size_t>(std::ranges::lower_bound(series.sizes, size) - series.sizes.begin());
}

Bracket bracket_of(const Series& series) {
  const Point* fits = largest(series);
  const Point* full = too_large(series);
  return {fits != nullptr ? place_of(series, fits->size) + 1 : 0,
          full != nullptr ? place_of(series, full->size) : series.sizes.size()};
}

bool was_run(const Series& series, size_t place) {
  return std::ranges::binary_search(series.points, series.sizes[place], {}, &Point::size);
}

// The open index nearest to `wanted`.
std::optional<size_t> nearest_open(const Series& series, Bracket open, size_t wanted) {
  for (size_t distance = 0; distance < open.high - open.low; ++distance) {
    if (wanted + distance < open.high && !was_run(series, wanted + distance)) return wanted + distance;
    if (wanted >= open.low + distance && !was_run(series, wanted - distance)) return wanted - distance;
  }
  return std::nullopt;
}

// A line through the peaks of two sizes: the nearest known ones on either side of the GPU's memory, else the two
// largest.
struct Line {
  double bytes, size, slope;
  double bytes_at(uint64_t at) const { return bytes + slope * (static_cast<double>(at) - size); }
  uint64_t size_at(double at) const {
    return static_cast<uint64_t>(std::clamp(size + (at - bytes) / slope, 1.0, 1e15));
  }
};

std::optional<Line> line_of(std::vector<KnownPeak> known, Bytes memory) {
  std::ranges::sort(known, {}, &KnownPeak::size);
  const auto again = std::ranges::unique(known, {}, &KnownPeak::size);
  known.erase(again.begin(), again.end());
  if (known.size() < 2) return std::nullopt;
  size_t above = 1;
  while (above + 1 < known.size() && known[above].allocated <= memory) ++above;
  const KnownPeak &a = known[above - 1], &b = known[above];
  if (b.allocated <= a.allocated) return std::nullopt;
  return Line{static_cast<double>(a.allocated.value), static_cast<double>(a.size),
              static_cast<double>((b.allocated - a.allocated).value) / static_cast<double>(b.size - a.size)};
}

// The last index whose size is not larger.
size_t last_place(const Series& series, uint64_t size) {
  const auto beyond = std::ranges::upper_bound(series.sizes, size) - series.sizes.begin();
  return beyond == 0 ? 0 : static_cast<size_t>(beyond) - 1;
}

// The index at which the line reaches the GPU's memory. A program cannot use all of the memory. If the line says that a
// size fits that did not, this assumes 1 % less memory, then 2 %, 4 % and so on. None: bisect instead.
std::optional<size_t> place_on(const Line& line, const Series& series, Bracket open) {
  const auto memory = static_cast<double>(series.setting.memory.value);
  double less = memory / 100;
  bool is_hopeful = false;
  for (const Point& point : series.points) {
    if (point.outcome != Outcome::out_of_memory || line.bytes_at(point.size) > memory) continue;
    if (is_hopeful) less *= 2;
    is_hopeful = true;
  }
  if (!is_hopeful) return std::clamp(last_place(series, line.size_at(memory)), open.low, open.high - 1);
  const double end = line.bytes_at(series.sizes[std::min(open.high, series.sizes.size() - 1)]);
  const size_t place = std::min(last_place(series, line.size_at(end - less)), open.high - 1);
  return place > open.low ? std::optional(place) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> next_size(const Series& series, std::span<const KnownPeak> hints) {
  const Bracket open = bracket_of(series);
  if (open.low >= open.high) return std::nullopt;
  std::vector<KnownPeak> known(hints.begin(), hints.end());
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::measured) known.push_back({point.size, point.measured.allocated});
  }
  const auto line = line_of(std::move(known), series.setting.memory);
  std::optional<size_t> wanted;
  // If peaks are not on a line, the line may mislead for ever; so every sixth run bisects.
  if (line && series.points.size() % 6 != 5) wanted = place_on(*line, series, open);
  if (!line && series.points.empty()) wanted = 0;
  if (!line && series.points.size() == 1 && largest(series) != nullptr) {
    wanted = std::clamp(place_of(series, kFirstStride * series.sizes[0]), open.low, open.high - 1);
  }
  const auto place = nearest_open(series, open, wanted.value_or(open.low + (open.high - open.low) / 2));
  return place ? std::optional(series.sizes[*place]) : std::nullopt;
}

}  // namespace tapelens::fit
