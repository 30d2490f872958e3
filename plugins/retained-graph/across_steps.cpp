#include "plugins/retained-graph/across_steps.h"

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

std::vector<CycleEnd> models_in_cycles(const Context& context, const Keepers& keepers, const std::set<NodeId>& entries,
                                       const std::vector<uint32_t>& born) {
  const Process& p = context.process;
  std::map<EvaluationId, NodeId> accumulations;
  for (const NodeId entry : entries) {
    if (keepers.of(entry) == KeptBy::gradient) accumulations.emplace(keepers.accumulation(entry), entry);
  }
  std::vector<CycleEnd> endings;
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

namespace {

// By node: whether all its edges lead to earlier steps, directly or through such nodes.
std::vector<bool> bridges(const Process& p, const Graphs& graphs, const std::vector<uint32_t>& born) {
  std::vector<bool> is_bridge(p.nodes.rows() + 1, false);
  for (uint32_t row = 1; row <= p.nodes.rows(); ++row) {
    const auto edges = p.nodes.edges_of(NodeId{row});
    if (!graphs.is_inner(NodeId{row})) continue;
    const auto leads_back = [&](uint32_t next) {
      return next == 0 || (graphs.is_inner(NodeId{next}) && (born[next] < born[row] || is_bridge[next]));
    };
    is_bridge[row] =
        std::ranges::any_of(edges, [](uint32_t next) { return next != 0; }) && std::ranges::all_of(edges, leads_back);
  }
  return is_bridge;
}

}  // namespace

std::vector<AllocationId> made_for_the_past(const Context& context, const Graphs& graphs,
                                            const std::vector<uint32_t>& born) {
  const Process& p = context.process;
  const std::vector<bool> is_bridge = bridges(p, graphs, born);
  enum Kind : uint8_t { kPresent = 0, kPast = 1, kLeadsThere = 2 };
  std::vector<uint8_t> kind(p.evaluations.rows() + 1, kPresent);
  for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) {
    const EvaluationId evaluation{row};
    const NodeId node = p.evaluations.node[evaluation];
    if (!graphs.is_inner(node)) continue;
    const uint32_t place = step_at(context.steps, p.evaluations.begin[evaluation]).index - context.steps.front().index;
    const bool is_past = place > born[node.value];
    const auto edges = p.nodes.edges_of(node);
    if (is_past || is_bridge[node.value]) {
      kind[row] = kPast;
    } else if (std::ranges::any_of(edges, [&](uint32_t next) { return next != 0 && is_bridge[next]; })) {
      kind[row] = kLeadsThere;
    }
  }
  std::vector<bool> is_gradient(p.allocations.rows() + 1, false);
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    if (p.roles.kind[RoleId{row}] == Role::gradient) is_gradient[p.roles.allocation.raw[row]] = true;
  }
  // Whether a node of the current step made the allocation, but only nodes of earlier steps read it.
  const auto is_for_the_past = [&](AllocationId allocation, EvaluationId made) {
    bool any = false;
    for (const OperatorId op : context.provenance.uses(allocation)) {
      const EvaluationId reader = p.operators.evaluation[op];
      if (reader == made) continue;
      if (!reader || kind[reader.value] != kPast) return false;
      any = true;
    }
    return any;
  };
  std::vector<AllocationId> all;
  for (uint32_t row = 1; row <= p.allocations.rows(); ++row) {
    const AllocationId allocation{row};
    const EvaluationId made = p.allocations.evaluation[allocation];
    const uint8_t of = kind[made.value];
    if (of == kPresent || is_gradient[row]) continue;
    if (of == kPast || is_for_the_past(allocation, made)) all.push_back(allocation);
  }
  return all;
}

}  // namespace tapelens::check
