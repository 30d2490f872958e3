#include "analyzer/peak/step_memory.h"

#include <algorithm>

namespace tapelens::peak {

std::vector<StepMemory> step_memory(const Analysis& analysis, const Timeline& timeline) {
  const model::Process& process = analysis.process();
  const std::vector<model::Interval>& backwards = analysis.phases().backwards();
  std::vector<StepMemory> out;
  auto backward = backwards.begin();
  for (const model::Step& step : analysis.steps()) {
    const auto totals = timeline.allocated(step.when);
    StepMemory s;
    s.index = step.index;
    s.complete = step.when.end != model::kNever;
    s.begin = step.when.begin;
    s.end = step.when.end == model::kNever ? std::max(process.duration, step.when.begin) : step.when.end;
    // The largest sum of an empty interval is the live bytes just before its begin.
    s.begin_live = timeline.largest({step.when.begin, step.when.begin}).bytes;
    s.peak = timeline.largest(step.when).bytes;
    s.allocations = totals.allocations;
    s.allocated = totals.bytes;
    // Neither steps nor merged backwards overlap, so both are walked once; one backward may reach into two steps.
    while (backward != backwards.end() && backward->end <= step.when.begin) ++backward;
    for (auto at = backward; at != backwards.end() && at->begin < step.when.end; ++at) {
      const model::Interval part{std::max(at->begin, step.when.begin), std::min(at->end, step.when.end)};
      s.backward_allocations += timeline.allocated(part).allocations;
    }
    out.push_back(s);
  }
  return out;
}

}  // namespace tapelens::peak
