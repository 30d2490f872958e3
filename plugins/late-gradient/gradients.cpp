#include "plugins/late-gradient/gradients.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/check/backwards.h"
#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

// The allocations with a known phase, sorted by number.
struct PhaseRows {
  std::vector<AllocationId> forward, backward, optimizer;

  explicit PhaseRows(const Process& p) {
    const ImportedFacts& facts = p.imported_facts;
    for (uint32_t row = 1; row <= facts.rows(); ++row) {
      const ImportedFactsId id{row};
      if (facts.phase[id] == ImportedPhase::forward) forward.push_back(facts.allocation[id]);
      if (facts.phase[id] == ImportedPhase::backward) backward.push_back(facts.allocation[id]);
      if (facts.phase[id] == ImportedPhase::optimizer) optimizer.push_back(facts.allocation[id]);
    }
  }
};

// The first allocation between two times.
AllocationId first_within(const Process& p, const std::vector<AllocationId>& rows, Time after, Time before) {
  const auto made = [&](AllocationId id) { return p.allocations.time[id]; };
  const auto at = std::ranges::upper_bound(rows, after, {}, made);
  return at != rows.end() && made(*at) < before ? *at : AllocationId{};
}

AllocationId last_within(const Process& p, const std::vector<AllocationId>& rows, Time after, Time before) {
  const auto made = [&](AllocationId id) { return p.allocations.time[id]; };
  const auto at = std::ranges::lower_bound(rows, before, {}, made);
  return at != rows.begin() && made(*(at - 1)) > after ? *(at - 1) : AllocationId{};
}

std::optional<SpentGradient> spent(const Process& p, const PhaseRows& rows, AllocationId gradient) {
  const Time made = p.allocations.time[gradient], freed = p.freed(gradient);
  if (freed == kNever) return std::nullopt;
  const AllocationId in_step = last_within(p, rows.optimizer, made, freed);
  if (!in_step) return std::nullopt;
  const Time stepped = p.allocations.time[in_step];
  const AllocationId forward = first_within(p, rows.forward, stepped, freed);
  // The program may keep the gradient on purpose, because a later backward adds to it.
  if (!forward || first_within(p, rows.backward, stepped, freed)) return std::nullopt;
  return SpentGradient{gradient, in_step, p.allocations.time[forward]};
}

}  // namespace

std::vector<SpentGradient> spent_gradients(const Context& context) {
  const Process& p = context.process;
  const ImportedFacts& facts = p.imported_facts;
  const PhaseRows rows(p);
  std::vector<SpentGradient> found;
  for (uint32_t row = 1; row <= facts.rows(); ++row) {
    const AllocationId allocation = facts.allocation[ImportedFactsId{row}];
    if (facts.role[ImportedFactsId{row}] != ImportedRole::gradient || !context.is_looked_at(allocation, Bytes{1}))
      continue;
    if (const auto one = spent(p, rows, allocation)) found.push_back(*one);
  }
  return found;
}

StackId backward_stack(const Context& context, AllocationId gradient) {
  const StackId stack = stack_of_backward(context, context.process.allocations.time[gradient]);
  return stack ? stack : place_of(context, gradient).stack;
}

// Without FSDP2, parameters of equal names are those of several models, as in a GAN.
bool has_fsdp(const Text& text) {
  return std::ranges::any_of(text.frame_file.ids(), [&](FrameId frame) {
    return text.string(text.frame_file[frame]).find("/torch/distributed/fsdp/") != std::string_view::npos;
  });
}

std::vector<Whole> whole_gradients(const Context& context) {
  if (!has_fsdp(context.text)) return {};
  const Process& p = context.process;
  std::unordered_map<uint32_t, Bytes> shard_of;       // by name: the smallest parameter
  std::unordered_map<uint32_t, StringId> parameters;  // by allocation: its name
  for (const RoleId role : p.roles.allocation.ids()) {
    if (p.roles.kind[role] != Role::parameter || !p.roles.name[role]) continue;
    const Bytes bytes = p.allocations.bytes[p.roles.allocation[role]];
    parameters.try_emplace(p.roles.allocation[role].value, p.roles.name[role]);
    const auto [at, is_new] = shard_of.try_emplace(p.roles.name[role].value, bytes);
    if (!is_new) at->second = std::min(at->second, bytes);
  }
  std::vector<Whole> all;
  for (const RoleId role : p.roles.allocation.ids()) {
    const AllocationId gradient = p.roles.allocation[role];
    if (p.roles.kind[role] != Role::gradient || p.allocations.device[gradient] != context.device) continue;
    StringId name = p.roles.name[role];
    const auto parameter = parameters.find(p.roles.parameter[role].value);
    if (parameter != parameters.end()) name = parameter->second;
    const auto shard = shard_of.find(name.value);
    const Bytes bytes = p.allocations.bytes[gradient];
    if (shard == shard_of.end() || shard->second.value * 2 > bytes.value) continue;
    const auto backward = std::ranges::upper_bound(p.backwards, p.allocations.time[gradient], {}, &Backward::begin);
    if (backward == p.backwards.begin() || backward == p.backwards.end()) continue;
    // A backward made the gradient, and the gradient is still alive when the next backward begins.
    if (p.freed(gradient) <= backward->begin || std::prev(backward)->end < p.allocations.time[gradient]) continue;
    all.push_back({gradient, std::prev(backward)->end, shard->second});
  }
  std::ranges::sort(all, {}, &Whole::gradient);
  const auto twice = std::ranges::unique(all, {}, &Whole::gradient);
  all.erase(twice.begin(), twice.end());
  // FSDP2 reduces a gradient while the backward of the preceding modules runs.
  for (size_t at = 0; at < all.size(); ++at) {
    constexpr size_t kInFlight = 4;  // weight and bias of this module and the next
    const Time later = at + kInFlight < all.size() ? p.allocations.time[all[at + kInFlight].gradient] : kNever;
    all[at].reduced = std::min(all[at].reduced, later);
  }
  return all;
}

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
