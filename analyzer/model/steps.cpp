#include "analyzer/model/steps.h"

#include <algorithm>

namespace tapelens::model {

std::vector<Step> find_steps(const Process& process) {
  std::vector<Step> steps;
  Time begin{0};
  if (!process.optimizer_steps.empty()) {
    const StringId first = process.optimizer_steps.front().optimizer;
    for (const OptimizerStep& step : process.optimizer_steps) {
      // One that never ended, or ended before the last border (a step within a step), is no border.
      if (step.optimizer != first || step.when.end == kNever || step.when.end <= begin) continue;
      steps.push_back({static_cast<uint32_t>(steps.size()), {begin, step.when.end}});
      begin = step.when.end;
    }
  }
  // A program's last words (`loss.item()`) are no step; an evaluation after the training is.
  const std::vector<uint64_t>& made = process.allocations.time.raw;
  const bool more = made.size() > 1 && made.back() >= static_cast<uint64_t>(begin.ns);
  if (steps.empty() || more) steps.push_back({static_cast<uint32_t>(steps.size()), {begin, kNever}});
  return steps;
}

const Step& step_at(const std::vector<Step>& steps, Time time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, [](const Step& step) { return step.when.begin; });
  return after == steps.begin() ? steps.front() : *(after - 1);
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::optimizer:
      return "optimizer";
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

// The last interval that begins at or before a moment, if any.
const Interval* last_before(const std::vector<Interval>& intervals, Time time) {
  const auto after = std::ranges::upper_bound(intervals, time, {}, &Interval::begin);
  return after == intervals.begin() ? nullptr : &*(after - 1);
}

template <class Column>
uint32_t first_at_or_after(const Column& times, Time time) {
  const auto& raw = times.raw;
  return static_cast<uint32_t>(std::lower_bound(raw.begin() + 1, raw.end(), static_cast<uint64_t>(time.ns)) -
                               raw.begin());
}

}  // namespace

Phases::Phases(const Process& process, const std::vector<Step>& steps)
    : process_(process), steps_(steps), backwards_(merged(process.backwards)) {
  std::vector<Interval> optimizers;
  for (const OptimizerStep& step : process.optimizer_steps) optimizers.push_back(step.when);
  optimizers_ = merged(std::move(optimizers));
}

Phase Phases::at(Time time) const {
  const Interval* backward = last_before(backwards_, time);
  if (backward != nullptr && backward->contains(time)) return Phase::backward;
  const Interval* optimizer = last_before(optimizers_, time);
  if (optimizer != nullptr && optimizer->contains(time)) return Phase::optimizer;
  Time since = step_at(steps_, time).when.begin;
  if (backward != nullptr) since = std::max(since, backward->end);
  if (optimizer != nullptr) since = std::max(since, optimizer->end);

  return forward_from({since, kNever}) <= time ? Phase::forward : Phase::other;
}

Time Phases::forward_from(Interval interval) const {
  Time begin = interval.end;
  const uint32_t call = first_at_or_after(process_.module_calls.begin, interval.begin);
  if (call <= process_.module_calls.rows()) begin = std::min(begin, process_.module_calls.begin[ModuleCallId{call}]);
  const uint32_t node = first_at_or_after(process_.nodes.time, interval.begin);
  if (node <= process_.nodes.rows()) {
    // The operator that makes the node begins before the node is there.
    const OperatorId op = process_.nodes.op[NodeId{node}];
    begin = std::min(begin, op ? process_.operators.begin[op] : process_.nodes.time[NodeId{node}]);
  }
  return std::max(begin, interval.begin);
}

}  // namespace tapelens::model
