#include "analyzer/check/interruptions.h"

#include <algorithm>

namespace tapelens::check {

using namespace model;

namespace {

// The end of the last optimizer step before `time`; 0: none.
Time last_step(const Process& p, Time time) {
  Time last{0};
  for (const OptimizerStep& step : p.optimizer_steps) {
    if (step.when.end < time) last = std::max(last, step.when.end);
  }
  return last;
}

}  // namespace

Interruptions::Interruptions(const Process& p) {
  for (const OutOfMemoryId request : p.out_of_memory.time.ids()) {
    const Time time = p.out_of_memory.time[request];
    all_.push_back({{last_step(p, time), time}, time});
  }
  // An exception keeps the variables of its frames until the program handles it, which is after the last operator. A
  // recording that ends with a step may contain only some steps. The program may use its live memory in the next step.
  const Time last_operator = p.operators.rows() == 0 ? Time{0} : p.operators.begin[OperatorId{p.operators.rows()}];
  const Time last = last_step(p, kNever);
  if (last > last_operator) {
    all_.push_back({{last_step(p, last), kNever}, Time{kNever.ns - 1}});
  } else if (!p.summary.finished || p.summary.exit_code.value_or(0) != 0) {
    all_.push_back({{last, kNever}, last_operator});
  }
}

bool Interruptions::cut(Interval life) const {
  return std::ranges::any_of(
      all_, [&](const Interruption& one) { return one.making.contains(life.begin) && life.end > one.alive; });
}

}  // namespace tapelens::check
