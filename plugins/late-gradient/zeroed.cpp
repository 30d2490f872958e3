#include "plugins/late-gradient/zeroed.h"

#include <algorithm>
#include <map>

#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

// By parameter: the evaluations that accumulate its gradient, in the order of time.
std::map<uint32_t, std::vector<EvaluationId>> accumulations(const Process& p) {
  std::map<uint32_t, std::vector<EvaluationId>> found;
  for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) {
    const AllocationId parameter = p.nodes.parameter[p.evaluations.node[EvaluationId{row}]];
    if (parameter) found[parameter.value].push_back(EvaluationId{row});
  }
  return found;
}

}  // namespace

namespace {

// When the new gradient, which would have been the parameter's as it is, has been added and is gone.
Time taken_over(const Context& context, AllocationId gradient, OperatorId add, EvaluationId evaluation) {
  const Process& p = context.process;
  Time end = p.evaluations.end[evaluation];
  if (p.operators.evaluation[add] != evaluation || evaluation.value == p.evaluations.rows()) return end;
  const Time latest = p.evaluations.end[EvaluationId{evaluation.value + 1}];
  for (const uint32_t input : context.provenance.inputs(add)) {
    const AllocationId added{input};
    if (!added || added == gradient || p.allocations.bytes[added] != p.allocations.bytes[gradient]) continue;
    if (const Time freed = p.freed(added); freed < latest) end = std::max(end, freed);
  }
  return end;
}

}  // namespace

std::vector<Zeroed> zeroed_gradients(const Context& context) {
  const Process& p = context.process;
  const NameSet zeroing(context.text, {"aten::zero_", "aten::_foreach_zero_"});
  const NameSet looking(context.text, {"aten::detach", "aten::detach_"});
  const auto accumulated = accumulations(p);
  // Else told before a step: it is in a bucket, or a shard, that lives for reasons of its own.
  const auto is_told_by_leaf = [&](RoleId role) {
    const auto of = accumulated.find(p.roles.parameter[role].value);
    return of != accumulated.end() && std::ranges::any_of(of->second, [&](EvaluationId leaf) {
             return p.evaluations.begin[leaf] <= p.roles.time[role] && p.roles.time[role] <= p.evaluations.end[leaf];
           });
  };
  std::map<uint32_t, AllocationId> parameter_of;  // by gradient
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    if (p.roles.kind[role] == Role::gradient && p.roles.parameter[role] && is_told_by_leaf(role)) {
      parameter_of.emplace(p.roles.allocation.raw[row], p.roles.parameter[role]);
    }
  }
  std::vector<Zeroed> found;
  for (const auto& [id, parameter] : parameter_of) {
    const auto evaluations = accumulated.find(parameter.value);
    if (evaluations == accumulated.end()) continue;
    Zeroed zeroed{AllocationId{id}, {}, {}};
    bool is_idle = false, fits = true;
    for (const OperatorId op : context.provenance.uses(zeroed.gradient)) {
      if (looking.has(p.operators.name[op])) continue;
      const Time begin = p.operators.begin[op];
      const auto& all = evaluations->second;
      if (is_idle) {
        // Accumulated since, or read although it is nothing but zeros.
        const auto next = std::ranges::upper_bound(all, zeroed.idle.back().begin, {},
                                                   [&](EvaluationId e) { return p.evaluations.begin[e]; });
        if (next == all.end() || p.evaluations.begin[*next] > begin) {
          fits = zeroing.has(p.operators.name[op]);
          if (!fits) break;
          continue;
        }
        zeroed.idle.back().end = taken_over(context, zeroed.gradient, op, *next);
        is_idle = false;
      }
      if (p.operators.evaluation[op] || !zeroing.has(p.operators.name[op])) continue;
      if (!zeroed.op) zeroed.op = op;
      zeroed.idle.push_back({begin, p.freed(zeroed.gradient)});
      is_idle = true;
    }
    if (fits && zeroed.idle.size() >= 2) found.push_back(std::move(zeroed));
  }
  return found;
}

}  // namespace tapelens::check
