#include "analyzer/fit/search.h"

#include <algorithm>

namespace tapelens::fit {
namespace {

constexpr uint64_t kFirstStride = 4;  // from the smallest size to the second that is run: peaks of both make a line

// Places in series.sizes: all from `low` on and before `high` are open, but for those that were run and failed.
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

// The open place that is nearest to this one.
std::optional<size_t> nearest_open(const Series& series, Bracket open, size_t wanted) {
  for (size_t distance = 0; distance < open.high - open.low; ++distance) {
    if (wanted + distance < open.high && !was_run(series, wanted + distance)) return wanted + distance;
    if (wanted >= open.low + distance && !was_run(series, wanted - distance)) return wanted - distance;
  }
  return std::nullopt;
}

// The size at which the peaks of those that are known reach the memory: on the line between the two that are on either
// side of it, else between the two largest.
std::optional<uint64_t> where_memory_ends(std::vector<Known> known, Bytes memory) {
  std::ranges::sort(known, {}, &Known::size);
  const auto again = std::ranges::unique(known, {}, &Known::size);
  known.erase(again.begin(), again.end());
  if (known.size() < 2) return std::nullopt;
  size_t above = 1;
  while (above + 1 < known.size() && known[above].allocated <= memory) ++above;
  const Known &a = known[above - 1], &b = known[above];
  if (b.allocated <= a.allocated) return std::nullopt;
  const double slope = static_cast<double>((b.allocated - a.allocated).value) / static_cast<double>(b.size - a.size);
  const double size = static_cast<double>(a.size) + static_cast<double>((memory - a.allocated).value) / slope;
  return size < 1 ? 1 : size > 1e15 ? uint64_t{1} << 50 : static_cast<uint64_t>(size);
}

}  // namespace

std::optional<uint64_t> next_size(const Series& series, std::span<const Known> hints) {
  const Bracket open = bracket_of(series);
  if (open.low >= open.high) return std::nullopt;
  std::vector<Known> known(hints.begin(), hints.end());
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::fits) known.push_back({point.size, point.allocated});
  }
  const auto guess = where_memory_ends(std::move(known), series.setting.memory);
  size_t wanted = open.low + (open.high - open.low) / 2;
  // Where it says that what was seen not to fit does, the line is too hopeful.
  const bool is_hopeful = guess.has_value() && open.high < series.sizes.size() && *guess >= series.sizes[open.high];
  if (is_hopeful && series.points.size() % 4 != 3) {
    // By what no block could use, some percent of the memory: the end is nearer to what does not fit.
    wanted = open.high - std::max<size_t>(1, (open.high - open.low) / 4);
  } else if (guess && series.points.size() % 4 != 3) {
    const auto beyond = std::ranges::upper_bound(series.sizes, *guess);
    const auto place = static_cast<size_t>(beyond - series.sizes.begin());
    wanted = std::clamp(place == 0 ? 0 : place - 1, open.low, open.high - 1);
  } else if (series.points.empty()) {
    wanted = 0;
  } else if (series.points.size() == 1 && largest(series) != nullptr) {
    wanted = std::clamp(place_of(series, kFirstStride * series.sizes[0]), open.low, open.high - 1);
  }
  const auto place = nearest_open(series, open, wanted);
  return place ? std::optional(series.sizes[*place]) : std::nullopt;
}

}  // namespace tapelens::fit
