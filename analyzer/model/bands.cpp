#include "analyzer/model/bands.h"

#include <algorithm>

namespace tapelens::model {

namespace {

// Visits the parts of `whole` that no interval in `taken` covers. `taken` is sorted and does not overlap.
template <class Visit>
void gaps(Interval whole, const std::vector<Interval>& taken, size_t& first, Visit visit) {
  while (first < taken.size() && taken[first].end <= whole.begin) ++first;
  Time at = whole.begin;
  for (size_t i = first; i < taken.size() && taken[i].begin < whole.end; ++i) {
    if (taken[i].begin > at) visit(Interval{at, taken[i].begin});
    at = std::max(at, taken[i].end);
  }
  if (at < whole.end) visit(Interval{at, whole.end});
}

}  // namespace

Bands bands(const Process& process, const std::vector<Step>& steps, const Phases& phases) {
  Bands out;
  const Time end = process.duration;
  const auto cut = [&](Interval when) { return Interval{when.begin, std::min(when.end, end)}; };
  for (const Step& step : steps) out.steps.push_back(cut(step.when));
  if (!steps.empty()) out.first_step = steps.front().index;

  std::vector<Interval> taken;
  for (const Interval& backward : phases.backwards()) {
    out.phases.push_back({cut(backward), Phase::backward});
    taken.push_back(backward);
  }
  // A backward takes precedence over the optimizer step around it, as in Phases::at.
  size_t first_backward = 0;
  for (const Interval& optimizer : phases.optimizers()) {
    gaps(optimizer, phases.backwards(), first_backward, [&](Interval part) {
      out.phases.push_back({cut(part), Phase::optimizer});
    });
    taken.push_back(optimizer);
  }
  taken = merged(std::move(taken));
  size_t first = 0;
  for (const Interval& step : out.steps) {
    // The rest of a step starts without a phase; its first call starts a forward or an evaluation.
    gaps(step, taken, first, [&](Interval part) {
      for (const Phases::Part& one : phases.parts_of(part)) out.phases.push_back({one.when, one.phase});
    });
  }
  std::erase_if(out.phases, [](const Bands::Band& band) { return band.when.end <= band.when.begin; });
  std::ranges::sort(out.phases, {}, [](const Bands::Band& band) { return band.when.begin; });
  return out;
}

}  // namespace tapelens::model
