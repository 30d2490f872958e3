#include "analyzer/model/steps.h"

#include <algorithm>

#include "trace/record.h"

namespace tapelens::model {
namespace {

template <class Column>
uint32_t first_at_or_after(const Column& times, Time time) {
  const auto& raw = times.raw;
  return static_cast<uint32_t>(std::lower_bound(raw.begin() + 1, raw.end(), static_cast<uint64_t>(time.ns)) -
                               raw.begin());
}

// The begin of the first operator that makes a node at `since` or later; kNever if none does.
Time node_begin(const Process& process, Time since) {
  const uint32_t node = first_at_or_after(process.nodes.time, since);
  if (node > process.nodes.rows()) return kNever;
  // The operator that makes a node begins before the time of the node.
  const OperatorId op = process.nodes.op[NodeId{node}];
  return op ? process.operators.begin[op] : process.nodes.time[NodeId{node}];
}

// The begin of the forward in an interval without a backward: its first module call, or the first operator that makes a
// node. The end of the interval if it has neither.
Time forward_begin(const Process& process, Interval interval) {
  Time begin = std::min(interval.end, node_begin(process, interval.begin));
  const uint32_t call = first_at_or_after(process.module_calls.begin, interval.begin);
  if (call <= process.module_calls.rows()) begin = std::min(begin, process.module_calls.begin[ModuleCallId{call}]);
  return std::max(begin, interval.begin);
}

// Backwards outside of any other, with the flags of the outermost one.
std::vector<Backward> outermost(const Process& process) {
  std::vector<Backward> out;
  for (const Backward& backward : process.backwards) {  // in the order of their begins
    if (!out.empty() && backward.begin < out.back().end) {
      out.back().end = std::max(out.back().end, backward.end);
    } else {
      out.push_back(backward);
    }
  }
  return out;
}

// The indices of each step's last backward: one after which the graph is released. If the program retains each graph,
// every backward is the last of its step.
std::vector<size_t> last_of_steps(const std::vector<Backward>& backwards) {
  std::vector<size_t> last;
  constexpr int kKeeps = trace::kBackwardKeepsGraph, kCreates = trace::kBackwardCreatesGraph;
  for (const int more : {kKeeps | kCreates, kCreates, 0}) {
    last.clear();
    for (size_t i = 0; i < backwards.size(); ++i) {
      if ((backwards[i].flags & more) == 0) last.push_back(i);
    }
    if (last.size() > 1) break;
  }
  return last;
}

// The end of the last operator that the program called.
Time last_operator_end(const Process& process) {
  OperatorId op{process.operators.rows()};
  while (op && process.operators.parent[op]) op = process.operators.parent[op];
  return op ? process.operators.end[op] : Time{0};
}

// For a program without a PyTorch optimizer, which updates parameters itself between a backward and the next forward.
std::vector<Step> steps_by_backwards(const Process& process) {
  const std::vector<Backward> backwards = outermost(process);
  const std::vector<size_t> last = last_of_steps(backwards);
  std::vector<Step> steps;
  if (last.size() < 2) return steps;
  Time begin{0};
  const auto add = [&](Time end) {
    steps.push_back({static_cast<uint32_t>(steps.size()), {begin, end}});
    begin = end;
  };
  for (const size_t i : last) {
    const Time next = i + 1 < backwards.size() ? backwards[i + 1].begin : kNever;
    const Time forward = forward_begin(process, {backwards[i].end, next});
    if (forward == kNever) {
      // Memory that is freed at the program's end is alive at the end of this step.
      add(process.summary.finished ? std::max(last_operator_end(process), backwards[i].end) : kNever);
      return steps;
    }
    add(forward);
  }
  add(kNever);
  return steps;
}

std::vector<Step> steps_by_optimizer(const Process& process) {
  std::vector<Step> steps;
  const bool is_by_program = process.older.count > 0 ? process.older.is_by_program : !process.program_steps.empty();
  const std::vector<OptimizerStep>& borders = is_by_program ? process.program_steps : process.optimizer_steps;
  if (borders.empty()) return steps;
  Time begin = process.older.until;
  const auto add = [&](Time end) {
    steps.push_back({process.older.count + static_cast<uint32_t>(steps.size()), {begin, end}});
    begin = end;
  };
  const StringId first = process.older.optimizer ? process.older.optimizer : borders.front().optimizer;
  for (const OptimizerStep& step : borders) {
    // A step that never ended, or that ended before the previous border (a nested step), is not a border.
    if (step.optimizer != first || step.when.end == kNever || step.when.end <= begin) continue;
    add(step.when.end);
  }
  // The last calls of a program (`loss.item()`) do not make a step; an evaluation after the training does.
  const std::vector<uint64_t>& made = process.allocations.time.raw;
  const bool more = made.size() > 1 && made.back() >= static_cast<uint64_t>(begin.ns);
  if (steps.empty() || more) add(kNever);
  return steps;
}

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

std::vector<Step> find_steps(const Process& process) {
  std::vector<Step> steps = steps_by_optimizer(process);
  if (steps.empty() && process.older.count == 0) steps = steps_by_backwards(process);
  if (steps.empty()) steps.push_back({process.older.count, {process.older.until, kNever}});
  return steps;
}

const Step& step_at(const std::vector<Step>& steps, Time time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, [](const Step& step) { return step.when.begin; });
  return after == steps.begin() ? steps.front() : *(after - 1);
}

uint32_t step_index_at(const std::vector<Step>& steps, Time time) {
  const Step& first = steps.front();
  return time < first.when.begin && first.index > 0 ? first.index - 1 : step_at(steps, time).index;
}

Phase phase_of(ImportedPhase phase) {
  switch (phase) {
    case ImportedPhase::forward:
      return Phase::forward;
    case ImportedPhase::backward:
      return Phase::backward;
    case ImportedPhase::optimizer:
      return Phase::optimizer;
    case ImportedPhase::unknown:
      break;
  }
  return Phase::other;
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
    case Phase::evaluation:
      return "evaluation";
    case Phase::other:
      break;
  }
  return "other";
}

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> out;
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.begin) continue;
    if (!out.empty() && interval.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, interval.end);
    } else {
      out.push_back(interval);
    }
  }
  return out;
}

std::vector<Interval> merged(const std::vector<Backward>& backwards) {
  return merged(std::vector<Interval>(backwards.begin(), backwards.end()));
}

BackwardBegins::BackwardBegins(const Process& process) {
  for (const Interval& backward : merged(process.backwards)) begins_.push_back(backward.begin);
}

Interval BackwardBegins::within(Interval when) const {
  if (begins_.empty()) return when;
  const auto first = std::ranges::lower_bound(begins_, when.begin),
             behind = std::ranges::lower_bound(begins_, when.end);
  if (first >= behind) return {when.begin, when.begin};
  return {*first, Time{(behind - 1)->ns + 1}};
}

namespace {

// The last interval that begins at or before a time; null if none.
const Interval* last_before(const std::vector<Interval>& intervals, Time time) {
  const auto after = std::ranges::upper_bound(intervals, time, {}, &Interval::begin);
  return after == intervals.begin() ? nullptr : &*(after - 1);
}

}  // namespace

Phases::Phases(const Process& process, const std::vector<Step>& steps)
    : process_(process), steps_(steps), backwards_(merged(process.backwards)) {
  std::vector<Interval> optimizers;
  for (const OptimizerStep& step : process.optimizer_steps) optimizers.push_back(step.when);
  for (const Interval& optimizer : merged(std::move(optimizers))) {
    // A closure runs a forward and a backward inside the optimizer's step; they are separate phases.
    Time begin = optimizer.begin;
    const auto add = [&](Time end) {
      if (begin < end) optimizers_.push_back({begin, end});
    };
    auto backward = std::ranges::lower_bound(backwards_, begin, {}, &Interval::begin);
    for (; backward != backwards_.end() && backward->begin < optimizer.end; ++backward) {
      add(forward_begin(process, {begin, backward->begin}));
      begin = backward->end;
    }
    add(optimizer.end);
  }
  for (const ModuleCallId call : process.module_calls.ids()) {
    if (process.module_calls.parent[call]) continue;
    const Interval when{process.module_calls.begin[call], process.module_calls.end[call]};
    const bool is_evaluation = (process.module_calls.flags[call] & trace::kModuleCallWithoutGradients) != 0;
    if (is_evaluation && node_begin(process, when.begin) >= when.end) {
      evaluations_.push_back(when);
    } else {
      forward_calls_.push_back(when.begin);
    }
  }
  evaluations_ = merged(std::move(evaluations_));
}

Phase Phases::at(Time time) const {
  const Interval* backward = last_before(backwards_, time);
  if (backward != nullptr && backward->contains(time)) return Phase::backward;
  const Interval* optimizer = last_before(optimizers_, time);
  if (optimizer != nullptr && optimizer->contains(time)) return Phase::optimizer;
  Time since = step_at(steps_, time).when.begin;
  if (backward != nullptr) since = std::max(since, backward->end);
  if (optimizer != nullptr) since = std::max(since, optimizer->end);
  const Interval* evaluation = last_before(evaluations_, time);
  const Time forward = forward_from(since);
  if (evaluation == nullptr || evaluation->begin < since) return forward <= time ? Phase::forward : Phase::other;
  if (time < evaluation->end) return Phase::evaluation;
  return forward < evaluation->begin || forward_from(evaluation->end) <= time ? Phase::forward : Phase::evaluation;
}

std::vector<Phases::Part> Phases::parts_of(Interval interval) const {
  std::vector<Part> parts;
  const auto add = [&](Time begin, Time end, Phase phase) {
    end = std::min(end, interval.end);
    if (end <= begin) return;
    if (!parts.empty() && parts.back().phase == phase && parts.back().when.end == begin) {
      parts.back().when.end = end;
    } else {
      parts.push_back({{begin, end}, phase});
    }
  };
  const Time forward = forward_from(interval.begin);
  auto evaluation = std::ranges::lower_bound(evaluations_, interval.begin, {}, &Interval::begin);
  const auto next = [&] {
    return evaluation == evaluations_.end() ? interval.end : std::min(interval.end, evaluation->begin);
  };
  add(forward, next(), Phase::forward);
  while (evaluation != evaluations_.end() && evaluation->begin < interval.end) {
    const Interval call = *evaluation++;
    const Time on = forward < call.begin ? call.end : std::min(forward_from(call.end), next());
    add(call.begin, on, Phase::evaluation);
    add(on, next(), Phase::forward);
  }
  return parts;
}

Time Phases::forward_from(Time since) const {
  const auto call = std::ranges::lower_bound(forward_calls_, since);
  const Time begin = std::min(call == forward_calls_.end() ? kNever : *call, node_begin(process_, since));
  return std::max(begin, since);
}

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
