#include "plugins/graph-without-backward/kept.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "analyzer/check/backwards.h"
#include "trace/record.h"

namespace tapelens::check {

std::vector<KeptSave> kept_for_nothing(const Context& context, const Graphs& graphs) {
  const Process& p = context.process;
  std::vector<uint32_t> backward_of(p.nodes.rows() + 1, kNoBackward);  // by node: the last backward that kept its graph
  std::vector<Time> evaluated(p.nodes.rows() + 1);
  std::vector<uint8_t> is_needed(p.backwards.size());
  for (const EvaluationId evaluation : p.evaluations.ids()) {
    const NodeId node = p.evaluations.node[evaluation];
    if (!graphs.is_inner(node)) continue;
    uint32_t& kept_by = backward_of[node.value];
    if (kept_by != kNoBackward) is_needed[kept_by] = 1;
    const uint32_t at = backward_at(p, p.evaluations.begin[evaluation]);
    const bool keeps = at != kNoBackward && p.backwards[at].end != kNever &&
                       (p.backwards[at].flags & (trace::kBackwardKeepsGraph | trace::kBackwardCreatesGraph)) != 0;
    kept_by = keeps ? at : kNoBackward;
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
    if (at == kNoBackward || !lines[at] || needed.contains(lines[at]) || !keeps_memory(context, save)) continue;
    if (p.saves.released[save] > p.backwards[at].end) kept.push_back({save, evaluated[node.value], at});
  }
  std::ranges::stable_sort(kept, {},
                           [&](const KeptSave& one) { return std::tuple(p.saves.allocation[one.save], one.backward); });
  return kept;
}

}  // namespace tapelens::check
