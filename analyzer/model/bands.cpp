#include "analyzer/model/bands.h"

#include <algorithm>

namespace tapelens::model {

namespace {

// The parts of [begin, end) in which none of some intervals is: those are sorted and do not overlap.
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
  // A backward goes before an optimizer's step around it, as in Phases::at.
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
    // What is left of a step begins with no phase, and is a forward or an evaluation from its first call on.
    gaps(step, taken, first, [&](Interval part) {
      for (const Phases::Part& one : phases.parts_of(part)) out.phases.push_back({one.when, one.phase});
    });
  }
  std::erase_if(out.phases, [](const Bands::Band& band) { return band.when.end <= band.when.begin; });
  std::ranges::sort(out.phases, {}, [](const Bands::Band& band) { return band.when.begin; });
  return out;
}

}  // namespace tapelens::model
