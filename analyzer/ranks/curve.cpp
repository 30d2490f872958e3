#include "analyzer/ranks/curve.h"

#include <algorithm>
#include <limits>

#include "analyzer/peak/timeline.h"

namespace tapelens::ranks {

namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // no value at this point

// Converts a point of a curve to that of a coarser one.
uint64_t place_at(uint64_t point, int from, int to) {
  const int shift = from - to;
  return shift >= 64 ? 0 : point >> shift;
}

}  // namespace

Curve curve_of(const model::Process& process, model::DeviceId device, const std::vector<model::Step>& steps) {
  Curve out;
  out.exponent = Curve::kFinest;
  const auto points = [&](int exponent) {
    return exponent >= 0 ? steps.size() << exponent : (steps.size() >> -exponent) + 2;
  };
  while (out.exponent > Curve::kCoarsest && points(out.exponent) > Curve::kMostPoints) --out.exponent;
  const auto first_step = uint64_t{steps.front().index};
  out.first = out.exponent >= 0 ? first_step << out.exponent : first_step >> -out.exponent;
  const int64_t parts = out.exponent >= 0 ? int64_t{1} << out.exponent : 1;
  std::vector<model::Interval> intervals;
  std::vector<size_t> places;  // of each curve
  for (const model::Step& step : steps) {
    const int64_t begin = step.when.begin.ns, end = std::max(std::min(step.when.end, process.duration).ns, begin);
    for (int64_t part = 0; part < parts; ++part) {
      const auto at = [&](int64_t i) { return model::Time{begin + (end - begin) / parts * i}; };
      const bool is_last = part + 1 == parts;
      const model::Time until = is_last ? step.when.end : at(part + 1);
      intervals.push_back({at(part), until});
      const uint64_t point = out.exponent >= 0 ? (uint64_t{step.index} << out.exponent) + static_cast<uint64_t>(part)
                                               : uint64_t{step.index} >> -out.exponent;
      places.push_back(point - out.first);
    }
  }
  const std::vector<model::Bytes> most = peak::largest_of_each(process, device, intervals);
  for (size_t i = 0; i < places.size(); ++i) {
    if (out.most.size() <= places[i]) out.most.resize(places[i] + 1, 0);
    out.most[places[i]] = std::max(out.most[places[i]], most[i].value);
  }
  return out;
}

Curve coarser(const Curve& curve, int exponent) {
  if (exponent >= curve.exponent) return curve;
  Curve out;
  out.exponent = exponent;
  out.first = place_at(curve.first, curve.exponent, exponent);
  for (size_t i = 0; i < curve.most.size(); ++i) {
    const size_t place = place_at(curve.first + i, curve.exponent, exponent) - out.first;
    if (out.most.size() <= place) out.most.resize(place + 1, kNone);
    out.most[place] = std::max(out.most[place], curve.most[i]);
  }
  return out;
}

Envelope envelope_of(const std::vector<const Curve*>& curves) {
  Envelope out;
  out.exponent = Curve::kFinest;
  for (const Curve* curve : curves) out.exponent = std::min(out.exponent, curve->exponent);
  std::vector<Curve> all;
  uint64_t first = std::numeric_limits<uint64_t>::max(), end = 0;
  const auto fit = [&] {
    all.clear();
    first = std::numeric_limits<uint64_t>::max();
    end = 0;
    for (const Curve* curve : curves) {
      if (curve->most.empty()) continue;
      all.push_back(coarser(*curve, out.exponent));
      first = std::min(first, all.back().first);
      end = std::max(end, all.back().first + all.back().most.size());
    }
  };
  fit();
  if (all.empty()) return out;
  // Curves of different steps (`--last` on one rank, all steps on another) together cover more than each alone.
  while (end - first > 2 * Curve::kMostPoints && out.exponent > Curve::kCoarsest) {
    --out.exponent;
    fit();
  }
  out.first = first;
  std::vector<int64_t> here;
  for (uint64_t point = first; point < end; ++point) {
    here.clear();
    for (const Curve& curve : all) {
      if (point >= curve.first && point - curve.first < curve.most.size())
        here.push_back(curve.most[point - curve.first]);
    }
    if (here.empty()) {  // between the steps of two ranks
      for (auto* line : {&out.least, &out.median, &out.most}) line->push_back(line->empty() ? 0 : line->back());
      continue;
    }
    const auto middle = here.begin() + static_cast<std::ptrdiff_t>((here.size() - 1) / 2);
    std::ranges::nth_element(here, middle);
    out.median.push_back(*middle);
    const auto [least, most] = std::ranges::minmax(here);
    out.least.push_back(least);
    out.most.push_back(most);
  }
  return out;
}

}  // namespace tapelens::ranks
