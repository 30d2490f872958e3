#include "plugins/retained-graph/models.h"

#include <algorithm>
#include <map>

namespace tapelens::check {
namespace {

// The engine's gradient that was copied into a parameter's .grad; none: no copy.
AllocationId copied_gradient(const Context& context, AllocationId gradient) {
  const Process& p = context.process;
  for (const OperatorId writer : context.provenance.writers(gradient)) {
    if (p.operators.evaluation[writer] != p.allocations.evaluation[gradient]) continue;
    if (context.provenance.name(writer) != "copy_") continue;
    for (const uint32_t input : context.provenance.inputs(writer)) {
      const AllocationId source{input};
      if (source && source != gradient && p.allocations.bytes[source] == p.allocations.bytes[gradient]) return source;
    }
  }
  return {};
}

AllocationId parameter_of(const Process& p, EvaluationId accumulation) {
  return p.nodes.parameter[p.evaluations.node[accumulation]];
}

// By step: the creation time of the newest parameter that got a gradient in that step.
std::map<uint32_t, Time> models_made(const Context& context) {
  const Process& p = context.process;
  std::map<uint32_t, Time> made;
  for (const EvaluationId evaluation : p.evaluations.ids()) {
    const AllocationId parameter = parameter_of(p, evaluation);
    if (!parameter) continue;
    const Step& step = step_at(context.steps, p.evaluations.begin[evaluation]);
    Time& last = made[step.index - context.steps.front().index];
    last = std::max(last, p.allocations.time[parameter]);
  }
  return made;
}

}  // namespace

std::vector<Ending> models_in_cycles(const Context& context, const Keepers& keepers, const std::set<NodeId>& entries,
                                     const std::vector<uint32_t>& born) {
  const Process& p = context.process;
  std::map<EvaluationId, NodeId> accumulations;
  for (const NodeId entry : entries) {
    if (keepers.of(entry) == KeptBy::gradient) accumulations.emplace(keepers.accumulation(entry), entry);
  }
  std::vector<Ending> endings;
  if (accumulations.empty()) return endings;
  // An allocation that is read after the next step is still in use.
  const auto add = [&](NodeId entry, AllocationId allocation, Time until, AllocationId copied) {
    const Time last = context.lifetimes.last_use(allocation);
    const size_t next = std::min<size_t>(born[entry.value] + 1, context.steps.size() - 1);
    if (last < context.steps[next].when.end) endings.push_back({entry, allocation, std::max(last, until), copied});
  };
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    const AllocationId allocation = p.roles.allocation[role];
    const auto of = accumulations.find(p.allocations.evaluation[allocation]);
    if (p.roles.kind[role] != Role::gradient || of == accumulations.end()) continue;
    // torch.autograd.grad returns the gradient itself; .grad has a copy of it.
    add(of->second, allocation, Time{0}, copied_gradient(context, allocation));
  }
  const std::map<uint32_t, Time> made = models_made(context);
  for (const auto& [accumulation, entry] : accumulations) {
    const auto next = made.upper_bound(born[entry.value]);
    const AllocationId parameter = parameter_of(p, accumulation);
    if (next != made.end() && next->second > p.allocations.time[parameter]) add(entry, parameter, next->second, {});
  }
  return endings;
}

}  // namespace tapelens::check
