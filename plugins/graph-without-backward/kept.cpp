#include "plugins/graph-without-backward/kept.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "trace/record.h"

namespace tapelens::check {

namespace {

// The innermost backward around each moment; backwards are in the order in which they begin.
uint32_t backward_at(const Process& p, Time when) {
  const auto behind = std::ranges::upper_bound(p.backwards, when, {}, &Backward::begin);
  for (auto at = behind; at != p.backwards.begin();) {
    --at;
    if (at->contains(when)) return static_cast<uint32_t>(at - p.backwards.begin());
  }
  return UINT32_MAX;
}

// backward() and grad() make the gradient that they begin with just before.
bool begins_backward(const Text& text, StackId stack) {
  return std::ranges::any_of(text.stack(stack), [&](FrameId frame) {
    return text.string(text.frame_function[frame]).ends_with("_make_grads");
  });
}

}  // namespace

StackId stack_of_backward(const Context& context, Time when) {
  const Process& p = context.process;
  const uint32_t at = backward_at(p, when);
  if (at == UINT32_MAX) return {};
  const Backward& backward = p.backwards[at];
  const auto& begins = p.operators.begin.raw;
  const auto first = std::lower_bound(begins.begin() + 1, begins.end(), static_cast<uint64_t>(backward.begin.ns));
  for (auto row = static_cast<uint32_t>(first - begins.begin()); row > 1; --row) {
    const OperatorId op{row - 1};
    if (p.operators.parent[op]) continue;
    if (begins_backward(context.text, p.operators.stack[op])) return p.operators.stack[op];
    break;
  }
  for (auto row = static_cast<uint32_t>(first - begins.begin()); row < begins.size(); ++row) {
    const OperatorId op{row};
    if (p.operators.begin[op] >= backward.end) break;
    if (model::is_engine_call(context.text, p.operators.stack[op])) return p.operators.stack[op];
  }
  return {};
}

std::vector<KeptSave> kept_for_nothing(const Context& context, const Graphs& graphs) {
  const Process& p = context.process;
  std::vector<uint32_t> backward_of(p.nodes.rows() + 1, UINT32_MAX);  // that kept the graph of a node
  std::vector<Time> evaluated(p.nodes.rows() + 1);
  std::vector<uint8_t> is_needed(p.backwards.size());
  for (const EvaluationId evaluation : p.evaluations.ids()) {
    const NodeId node = p.evaluations.node[evaluation];
    if (!graphs.is_inner(node)) continue;
    uint32_t& kept_by = backward_of[node.value];
    if (kept_by != UINT32_MAX) is_needed[kept_by] = 1;
    const uint32_t at = backward_at(p, p.evaluations.begin[evaluation]);
    const bool keeps = at != UINT32_MAX && p.backwards[at].end != kNever &&
                       (p.backwards[at].flags & (trace::kBackwardKeepsGraph | trace::kBackwardCreatesGraph)) != 0;
    kept_by = keeps ? at : UINT32_MAX;
    evaluated[node.value] = p.evaluations.end[evaluation];
  }

  std::vector<FrameId> lines(p.backwards.size());
  std::set<FrameId> needed;
  for (uint32_t at = 0; at < p.backwards.size(); ++at) {
    if ((p.backwards[at].flags & (trace::kBackwardKeepsGraph | trace::kBackwardCreatesGraph)) == 0) continue;
    lines[at] = own_frame(context.text, stack_of_backward(context, p.backwards[at].begin));
    if (is_needed[at] != 0) needed.insert(lines[at]);
  }

  std::vector<KeptSave> kept;
  for (const SaveId save : p.saves.ids()) {
    const NodeId node = p.saves.node[save];
    const uint32_t at = backward_of[node.value];
    if (at == UINT32_MAX || !lines[at] || needed.contains(lines[at]) || !keeps_memory(context, save)) continue;
    if (p.saves.released[save] > p.backwards[at].end) kept.push_back({save, evaluated[node.value], at});
  }
  std::ranges::stable_sort(kept, {},
                           [&](const KeptSave& one) { return std::tuple(p.saves.allocation[one.save], one.backward); });
  return kept;
}

}  // namespace tapelens::check
