#include "plugins/retained-graph/past.h"

#include <algorithm>

namespace tapelens::check {
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
