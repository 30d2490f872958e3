#include "plugins/late-gradient/zeroed.h"

#include <algorithm>
#include <map>

#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

// The evaluations that accumulate the gradient of one parameter, sorted by begin.
struct Accumulations {
  std::vector<EvaluationId> all;
  std::vector<Time> latest_end;  // over all evaluations up to each one
};

std::map<uint32_t, Accumulations> accumulations(const Process& p) {  // by parameter
  std::map<uint32_t, Accumulations> found;
  for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) {
    const EvaluationId evaluation{row};
    const AllocationId parameter = p.nodes.parameter[p.evaluations.node[evaluation]];
    if (!parameter) continue;
    Accumulations& of = found[parameter.value];
    const Time end = p.evaluations.end[evaluation];
    of.latest_end.push_back(of.all.empty() ? end : std::max(end, of.latest_end.back()));
    of.all.push_back(evaluation);
  }
  return found;
}

auto first_after(const Process& p, const Accumulations& of, Time time) {
  return std::ranges::upper_bound(of.all, time, {}, [&](EvaluationId e) { return p.evaluations.begin[e]; });
}

// Whether one of the evaluations runs at `time`.
bool runs_at(const Process& p, const Accumulations& of, Time time) {
  const auto after = first_after(p, of, time) - of.all.begin();
  return after > 0 && of.latest_end[static_cast<size_t>(after - 1)] >= time;
}

// The time at which the new gradient has been added and freed. Without the zeroed gradient, the parameter would take
// the new one unchanged.
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
  // Otherwise the row comes from a step: the gradient is part of a bucket or a shard with another lifetime.
  const auto is_told_by_leaf = [&](RoleId role) {
    const auto of = accumulated.find(p.roles.parameter[role].value);
    return of != accumulated.end() && runs_at(p, of->second, p.roles.time[role]);
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
      if (is_idle) {
        // The gradient was accumulated since then, or an operator reads the zeros.
        const auto next = first_after(p, evaluations->second, zeroed.idle.back().begin);
        if (next == evaluations->second.all.end() || p.evaluations.begin[*next] > begin) {
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
