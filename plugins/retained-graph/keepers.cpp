#include "plugins/retained-graph/keepers.h"

#include <algorithm>

#include "analyzer/check/backwards.h"
#include "analyzer/check/patch_maker.h"
#include "analyzer/check/patch_tokens.h"
#include "trace/record.h"

namespace tapelens::check {

Keepers::Keepers(const Context& context, const Graphs& graphs, const std::set<NodeId>& entries, Time alive)
    : context_(context), graphs_(graphs), alive_(alive) {
  find_results(entries);
  find_own_outputs(entries);
  find_created_graphs();
}

void Keepers::find_results(const std::set<NodeId>& entries) {
  const Process& p = context_.process;
  for (const NodeId entry : entries) results_[context_.provenance.called(p.nodes.op[entry]).value];
  for (const AllocationId allocation : p.allocations.ids()) {
    const OperatorId maker = context_.provenance.maker(allocation);
    const auto of = results_.find(maker.value);
    if (of != results_.end() && p.freed(allocation) > p.operators.end[maker]) of->second.push_back(allocation);
  }
}

void Keepers::find_own_outputs(const std::set<NodeId>& entries) {
  const Process& p = context_.process;
  for (uint32_t row = 1; row <= p.held.rows(); ++row) {
    const HeldId held{row};
    const NodeId node = p.held.node[held];
    if (p.held.by[held] != trace::HeldBy::context || !entries.contains(node)) continue;
    OperatorId op = p.allocations.op[p.held.allocation[held]];
    while (op && op != p.nodes.op[node]) op = p.operators.parent[op];
    if (op) own_outputs_.emplace(node.value, held);
  }
}

void Keepers::find_created_graphs() {
  const Process& p = context_.process;
  creates_graph_.resize(size_t{p.nodes.rows()} + 1);
  const bool any = std::ranges::any_of(
      p.backwards, [](const Backward& backward) { return (backward.flags & trace::kBackwardCreatesGraph) != 0; });
  created_for_nothing_ = created_for_nothing(context_, graphs_);
  if (!any) return;
  for (const EvaluationId evaluation : p.evaluations.ids()) {
    const uint32_t at = backward_at(p, p.evaluations.begin[evaluation]);
    creates_graph_[p.evaluations.node[evaluation].value] =
        at != kNoBackward && (p.backwards[at].flags & trace::kBackwardCreatesGraph) != 0;
  }
}

const std::vector<AllocationId>& Keepers::results(NodeId entry) const {
  return results_.at(context_.provenance.called(context_.process.nodes.op[entry]).value);
}

HeldId Keepers::own_output(NodeId entry) const {
  const auto at = own_outputs_.find(entry.value);
  return at == own_outputs_.end() ? HeldId{} : at->second;
}

EvaluationId Keepers::accumulation(NodeId entry) const {
  const Process& p = context_.process;
  const EvaluationId evaluation = p.operators.evaluation[p.nodes.op[entry]];
  return evaluation && bool{p.nodes.parameter[p.evaluations.node[evaluation]]} ? evaluation : EvaluationId{};
}

// Whether the entry is a node of a gradient graph, or a forward node that only such a graph keeps.
bool Keepers::is_of_created_graph(NodeId entry) const {
  const Process& p = context_.process;
  if (created_for_nothing_[entry.value]) return true;
  return creates_graph_[entry.value] &&
         std::ranges::none_of(results(entry), [&](AllocationId result) { return p.freed(result) > alive_; });
}

KeptBy Keepers::of(NodeId entry) const {
  if (own_output(entry)) return KeptBy::context;
  if (accumulation(entry)) return KeptBy::gradient;
  if (is_of_created_graph(entry)) return KeptBy::gradient_graph;
  const std::vector<AllocationId>& made = results(entry);
  const bool is_dead = !made.empty() && std::ranges::all_of(made, [&](AllocationId result) {
    return context_.process.freed(result) <= alive_;
  });
  return is_dead ? KeptBy::hidden : KeptBy::result;
}

EditLine attribute_line(const Context& context, StackId stack, std::string_view attribute) {
  const FrameId frame = own_frame(context.text, stack);
  const auto at = recorded_statement_at(context, frame);
  if (!at) return {};
  const auto& all = at->source.statements();
  size_t header = at->source.header_of(at->statement);
  while (header < all.size() && !is(*at->source.begin(all[header]), "def")) header = at->source.header_of(header);
  if (header == all.size()) return {};
  for (size_t i = header + 1; i < at->source.block_end(header); ++i) {
    const Tokens tokens(at->source.begin(all[i]), at->source.end(all[i]));
    if (dotted(tokens, 0) == 3 && is(tokens[2], attribute) && tokens.size() > 3 && is(tokens[3], "=")) {
      return {frame, tokens.front().line + 1};
    }
  }
  return {};
}

}  // namespace tapelens::check
