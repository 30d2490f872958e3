#include <algorithm>
#include <cctype>

#include "analyzer/fit/fit.h"
#include "analyzer/fit/fit_text.h"
#include "analyzer/fit/search.h"

namespace tapelens::fit {
namespace {

constexpr size_t kMostUnknown = 3;  // the search gives up after so many runs with unknown memory

// With equal rewrites, most programs allocate the same on every GPU.
std::vector<KnownPeak> hints_for(const Fit& fit, const Setting& setting) {
  std::vector<KnownPeak> hints;
  for (const Series& other : fit.series) {
    if (other.setting.apply != setting.apply) continue;
    for (const Point& point : other.points) {
      if (point.outcome == Outcome::measured) hints.push_back({point.size, point.measured.allocated});
    }
  }
  return hints;
}

std::optional<uint64_t> next_of_all(const Series& series) {
  const auto next = std::ranges::find_if(
      series.sizes, [&](uint64_t size) { return !std::ranges::binary_search(series.points, size, {}, &Point::size); });
  return next != series.sizes.end() ? std::optional(*next) : std::nullopt;
}

experiment::Variation variation_of(const Setting& setting, uint64_t size) {
  experiment::Variation variation;
  variation.name =
      setting.gpu + (setting.apply.empty() ? "" : "-" + setting.apply) + (size == 0 ? "" : "-" + std::to_string(size));
  for (char& c : variation.name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  variation.gpu = setting.gpu;
  variation.size = size;
  variation.rewrites = setting.rewrites;
  return variation;
}

std::string run_text(const Setting& setting, uint64_t size) {
  return label(setting) + (size == 0 ? "" : ", size " + std::to_string(size));
}

// The next run, with the results up to now: "H100, size 8; 4 fits, 16 does not".
std::string progress_text(const Series& series, uint64_t next) {
  std::string known;
  if (const Point* fits = largest(series); fits != nullptr) known = std::to_string(fits->size) + " fits";
  if (const Point* full = too_large(series); full != nullptr) {
    known += (known.empty() ? "" : ", ") + std::to_string(full->size) + " does not";
  }
  return run_text(series.setting, next) + (known.empty() ? "" : "; " + known);
}

}  // namespace

const Point* largest(const Series& series) {
  const Point* found = nullptr;
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::measured) found = &point;
  }
  return found;
}

const Point* too_large(const Series& series) {
  const Point* fits = largest(series);
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::out_of_memory && (fits == nullptr || point.size > fits->size)) return &point;
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

trace::Result<Fit> find(experiment::Runs& runs, const SearchSpace& wanted) {
  Fit fit;
  for (const Setting& setting : wanted.settings) {
    const std::vector<KnownPeak> hints = hints_for(fit, setting);
    Series& series = fit.series.emplace_back();
    series.setting = setting;
    series.sizes = wanted.sizes;
    while (const auto size = wanted.every ? next_of_all(series) : next_size(series, hints)) {
      auto attempt = runs.run(variation_of(setting, *size), progress_text(series, *size));
      if (!attempt) return attempt.error();
      if (!*attempt) {
        fit.was_interrupted = true;
        return fit;
      }
      Point point{std::move(**attempt), *size};
      runs.tell(experiment::result_text(run_text(setting, *size), outcome_text(point), point));
      const auto behind = std::ranges::upper_bound(series.points, *size, {}, &Point::size);
      series.points.insert(behind, std::move(point));
      if (wanted.every) continue;
      series.was_given_up = std::ranges::count_if(series.points, &Point::is_unknown) >= std::ptrdiff_t{kMostUnknown};
      if (series.was_given_up) break;
    }
  }
  return fit;
}

}  // namespace tapelens::fit
