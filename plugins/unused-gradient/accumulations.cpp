#include "plugins/unused-gradient/accumulations.h"

#include <algorithm>
#include <ranges>

#include "analyzer/check/content.h"
#include "trace/record.h"

namespace tapelens::check {

namespace {

// Whether an operator called another one: then the next row is inside it.
bool calls_any(const Process& p, OperatorId op) {
  return op.value < p.operators.rows() && p.operators.parent[OperatorId{op.value + 1}] == op;
}

}  // namespace

Accumulations::Accumulations(const Context& context) {
  const Process& p = context.process;
  unused_.assign(p.evaluations.rows() + 1, false);
  used_.assign(p.allocations.rows() + 1, false);
  for (const OptimizerStep& step : p.optimizer_steps) {
    // A step with a closure may make its gradients itself.
    if (step.when.end != kNever) last_step_ = std::max(last_step_, step.when.end);
  }
  if (last_step_ == Time{}) return;  // no optimizer uses these gradients
  zeroes_.resize(context.text.string_begin.size());
  adds_.resize(context.text.string_begin.size());
  looks_.resize(context.text.string_begin.size());
  moves_.resize(context.text.string_begin.size());
  for (uint32_t id = 1; id + 1 < context.text.string_begin.size(); ++id) {
    const std::string_view name = context.text.string(StringId{id});
    zeroes_[id] = name == "aten::zero_" || name == "aten::_foreach_zero_";
    adds_[id] = name == "aten::add_" || name == "aten::add";
    moves_[id] = name == "aten::to";
    // Module.cpu() checks each gradient's type for an exchange in place.
    looks_[id] = name == "aten::detach" || name == "aten::detach_" || name == "aten::_has_compatible_shallow_copy_type";
  }
  // The program may read gradients of other tensors (an input's saliency) without operators.
  const std::vector<bool> is_parameter = parameters_of(p);

  // The recording has the role at the end of the leaf's evaluation: the parameter's last evaluation that began before.
  std::vector<uint32_t> evaluation_of(p.allocations.rows() + 1, 0);
  uint32_t next = 1;
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    if (p.roles.kind[role] != Role::gradient) continue;
    for (; next <= p.evaluations.rows() && p.evaluations.begin.raw[next] <= p.roles.time.raw[row]; ++next) {
      evaluation_of[p.nodes.parameter[p.evaluations.node[EvaluationId{next}]].value] = next;
    }
    const AllocationId gradient = p.roles.allocation[role], parameter = p.roles.parameter[role];
    const EvaluationId evaluation{parameter ? evaluation_of[parameter.value] : 0};
    // A second row before a step: the gradient is part of a bucket or a shard with another lifetime.
    if (!gradient || !evaluation || p.evaluations.end[evaluation] < p.roles.time[role]) continue;
    if (!is_parameter[parameter.value] || is_read_after(context, gradient, evaluation, p.roles.time[role])) {
      used_[gradient.value] = true;
    } else {
      unused_[evaluation.value] = true;
      any_ = true;
    }
  }
}

bool Accumulations::is_read_after(const Context& context, AllocationId gradient, EvaluationId evaluation,
                                  Time made) const {
  const Process& p = context.process;
  const auto uses = context.provenance.uses(gradient);
  const auto first = std::ranges::lower_bound(uses, p.evaluations.begin[evaluation], {},
                                              [&](OperatorId op) { return p.operators.begin[op]; });
  for (const OperatorId op : std::ranges::subrange(first, uses.end())) {
    const EvaluationId within = p.operators.evaluation[op];
    // A hook of the leaf that steps immediately runs within the evaluation, before the role's row.
    if (p.operators.begin[op] < made && within != evaluation) continue;
    const uint32_t name = p.operators.name[op].value;
    if (looks_[name] != 0) continue;                       // the leaf takes the gradient over, or zero_grad() clears it
    if (moves_[name] != 0 && !calls_any(p, op)) continue;  // module.cpu() of a tensor on the CPU
    if (within && adds_[name] != 0 && p.nodes.parameter[p.evaluations.node[within]]) continue;
    if (zeroes_[name] != 0) return false;
    return true;
  }
  // The program might have read it after the recording.
  return p.freed(gradient) == kNever && made >= last_step_;
}

}  // namespace tapelens::check
