#include "plugins/late-gradient/waits.h"

#include <algorithm>

namespace tapelens::check {

Waits::Waits(const Context& context) {
  clears_.resize(context.text.string_begin.size());
  for (uint32_t id = 1; id + 1 < context.text.string_begin.size(); ++id) {
    const std::string_view name = context.text.string(StringId{id});
    clears_[id] = name == "aten::zero_" || name == "aten::_foreach_zero_" || name.starts_with("aten::detach");
  }
  find(context);
  if (!waits_.empty()) measure(context);
}

void Waits::find(const Context& context) {
  const Process& p = context.process;
  // The recording has the role of a gradient at the end of the leaf's evaluation. The last row of an allocation is the
  // latest one.
  struct Last {
    uint32_t role = 0, evaluation = 0;
  };
  std::vector<Last> last(p.allocations.rows() + 1);
  std::vector<uint32_t> evaluation_of(p.allocations.rows() + 1, 0);
  uint32_t next = 1;
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    if (p.roles.kind[role] != Role::gradient) continue;
    for (; next <= p.evaluations.rows() && p.evaluations.begin.raw[next] <= p.roles.time.raw[row]; ++next) {
      evaluation_of[p.nodes.parameter[p.evaluations.node[EvaluationId{next}]].value] = next;
    }
    const AllocationId parameter = p.roles.parameter[role];
    const EvaluationId leaf{parameter ? evaluation_of[parameter.value] : 0};
    // A second row before a step: the gradient is part of a bucket or a shard with another lifetime.
    if (leaf && p.evaluations.end[leaf] < p.roles.time[role]) continue;
    if (parameter) last[p.roles.allocation.raw[row]] = {row, leaf.value};
  }
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    const AllocationId gradient = p.roles.allocation[role];
    if (!gradient || last[gradient.value].role != row || last[gradient.value].evaluation == 0) continue;
    const EvaluationId evaluation{last[gradient.value].evaluation};
    const Time there = p.evaluations.end[evaluation];
    if (const OptimizerStep* step = reader(context, gradient, there)) {
      waits_.push_back(
          {gradient, p.roles.parameter[role], evaluation, there, static_cast<size_t>(step - p.optimizer_steps.data())});
    }
  }
}

const OptimizerStep* Waits::reader(const Context& context, AllocationId gradient, Time there) const {
  const Process& p = context.process;
  const OptimizerStep* reader = nullptr;
  for (const OperatorId op : context.provenance.uses(gradient)) {
    const Time begin = p.operators.begin[op];
    if (clears_[p.operators.name[op].value] != 0) continue;
    const auto after = std::ranges::upper_bound(p.optimizer_steps, begin, {},
                                                [](const OptimizerStep& step) { return step.when.begin; });
    const OptimizerStep* around = after == p.optimizer_steps.begin() ? nullptr : &*(after - 1);
    if (around != nullptr && !around->when.contains(begin)) around = nullptr;
    if (begin < there) {
      // If the gradient stays from step to step, only its last accumulation is known here.
      if (around != nullptr) return nullptr;
      continue;
    }
    // Other readers (a norm over all gradients, a scaler, a collective) may need all gradients first.
    if (around == nullptr || (reader != nullptr && reader != around)) return nullptr;
    reader = around;
  }
  return reader != nullptr && reader->when.end != kNever ? reader : nullptr;
}

void Waits::measure(const Context& context) {
  const Process& p = context.process;
  memory_.resize(p.optimizer_steps.size());
  for (size_t i = 0; i < memory_.size(); ++i) {
    const Interval when = p.optimizer_steps[i].when;
    if (when.end == kNever) continue;
    Bytes state;
    for (const AllocationId allocation : allocations_in(p, when)) {
      if (p.allocations.device[allocation] != context.device) continue;
      if (p.freed(allocation) <= when.end) {
        memory_[i].temporaries.push_back(allocation);
      } else {
        state += p.allocations.bytes[allocation];
      }
    }
    const Bytes before = context.timeline.live(context.timeline.at(when.begin));
    const Bytes more = context.timeline.largest(when).bytes - before - state;
    memory_[i].most = std::max(Bytes{0}, more);
  }
}

}  // namespace tapelens::check
