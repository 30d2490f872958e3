#include <algorithm>

#include "analyzer/fit/fit.h"
#include "analyzer/fit/search.h"

namespace tapelens::fit {
namespace {

constexpr size_t kMostUnknown = 3;  // the search gives up after so many runs with unknown memory

bool is_unknown(const Point& point) { return point.outcome == Outcome::failed || point.outcome == Outcome::cut_off; }

// With equal rewrites, most programs allocate the same on every GPU.
std::vector<Known> hints_for(const Fit& fit, const Setting& setting) {
  std::vector<Known> hints;
  for (const Series& other : fit.series) {
    if (other.setting.apply != setting.apply) continue;
    for (const Point& point : other.points) {
      if (point.outcome == Outcome::fits) hints.push_back({point.size, point.allocated});
    }
  }
  return hints;
}

std::optional<uint64_t> next_of_all(const Series& series) {
  const auto next = std::ranges::find_if(
      series.sizes, [&](uint64_t size) { return !std::ranges::binary_search(series.points, size, {}, &Point::size); });
  return next != series.sizes.end() ? std::optional(*next) : std::nullopt;
}

}  // namespace

const Point* largest(const Series& series) {
  const Point* found = nullptr;
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::fits) found = &point;
  }
  return found;
}

const Point* too_large(const Series& series) {
  const Point* fits = largest(series);
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::does_not_fit && (fits == nullptr || point.size > fits->size)) return &point;
  }
  return nullptr;
}

bool is_settled(const Series& series) {
  const Point* fits = largest(series);
  const Point* full = too_large(series);
  for (const uint64_t size : series.sizes) {
    if ((fits != nullptr && size <= fits->size) || (full != nullptr && size >= full->size)) continue;
    return false;
  }
  return true;
}

trace::Result<Fit> find(Runs& runs, const Wanted& wanted) {
  Fit fit;
  for (const Setting& setting : wanted.settings) {
    const std::vector<Known> hints = hints_for(fit, setting);
    Series& series = fit.series.emplace_back();
    series.setting = setting;
    series.sizes = wanted.sizes;
    while (const auto size = wanted.every ? next_of_all(series) : next_size(series, hints)) {
      runs.tell(series, *size);
      auto point = runs.run(setting, *size);
      if (!point) return point.error();
      if (!*point) {
        fit.was_interrupted = true;
        return fit;
      }
      (*point)->size = *size;
      const auto behind = std::ranges::upper_bound(series.points, *size, {}, &Point::size);
      series.points.insert(behind, std::move(**point));
      if (wanted.every) continue;
      series.was_given_up = std::ranges::count_if(series.points, is_unknown) >= std::ptrdiff_t{kMostUnknown};
      if (series.was_given_up) break;
    }
  }
  return fit;
}

}  // namespace tapelens::fit
