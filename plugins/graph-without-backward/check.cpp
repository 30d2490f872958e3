// Saves that no backward ever unpacks: of nodes that were never evaluated and that no evaluation passed by.
#include "analyzer/check/check.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/check/graphs.h"
#include "analyzer/check/interruptions.h"
#include "analyzer/check/patch_maker.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kWhole = 0,      // nothing of the graph was differentiated: an evaluation without no_grad
  kBranch = 1,     // it hangs on a graph that was: a metric of the live loss
  kGradients = 2,  // it was made while gradients were computed: create_graph without a second backward
};

constexpr Option kOptions[] = {
    {"min-percent", "1", "of the peak: graphs that save less are left out"},
};

class GraphWithoutBackward final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "graph-without-backward",
            .title = "graphs that are never differentiated",
            .help =
                "Tensors that autograd saved in graphs of which no backward ever evaluated a node: an evaluation "
                "or a metric that runs with gradients on. They stay until the last output of the graph dies. "
                "Under torch.no_grad() nothing is saved.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Graphs graphs(p, context.text);
    find_candidates(p, graphs);
    join_graphs(p);
    const Interruptions interruptions(p);
    std::vector<SaveId> found;
    std::unordered_map<uint32_t, Bytes> saved;  // by root
    for (const SaveId save : p.saves.ids()) {
      const NodeId node = p.saves.node[save];
      if (!is_candidate_[node.value] || !keeps_memory(context, save)) continue;
      const NodeId root{root_of(node.value)};
      // It may have been meant for a backward that the program did not come to.
      if (interruptions.cut({p.nodes.time[root], graphs.died(root)})) continue;
      found.push_back(save);
      saved[root.value] += p.allocations.bytes[p.saves.allocation[save]];
    }
    const int64_t least = context.peak.bytes.value / 100 * options.number("min-percent");
    for (const SaveId save : found) {
      const NodeId root{root_of(p.saves.node[save].value)};
      if (saved[root.value].value < least) continue;
      const AllocationId allocation = p.saves.allocation[save];
      const Interval when{std::max(p.saves.time[save], context.lifetimes.program_end(allocation)),
                          p.saves.released[save]};
      peak::WhatIf change;
      change.without.push_back(save);
      sink.add({place_of(context, root), allocation, p.allocations.bytes[allocation], when, save, root.value}, change,
               variant(p, root));
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    Description d;
    const Graphs all(context.process, context.text);
    const auto is_free = [&](NodeId node) { return is_candidate_[node.value] || !all.is_inner(node); };
    const PatchMaker patches(context);
    const StackId stack = group.biggest().place.stack;
    if (group.variant != kGradients) d.edit = patches.free_call(stack, is_free);
    const std::string line = d.edit ? peak::frame_text(context.text, d.edit) : line_of(context, group.biggest().place);
    const std::string at = line.empty() ? std::string() : " at " + line;
    const std::string bytes = bytes_text(group.bytes);
    switch (group.variant) {
      case kBranch:
        d.title = "a branch of the graph is saved but never differentiated";
        d.message = "What is computed" + at + " from a tensor of the training graph is never differentiated; " + bytes +
                    " are saved for it.";
        d.fix.text = "compute it from detached tensors (x.detach()), or under torch.no_grad()";
        break;
      case kGradients:
        d.title = "create_graph=True, but no second backward";
        d.message = "The gradients" + at + " were made with their own graph, which is never differentiated; it saves " +
                    bytes + ".";
        d.fix.text = "leave out create_graph=True";
        break;
      default:
        d.title = "forward with gradients enabled, but no backward()";
        d.message =
            "What is computed" + at + " is never differentiated, but autograd saved " + bytes + " for its backward.";
        d.fix.text = "run it under torch.no_grad() or torch.inference_mode()";
    }
    if (group.variant != kGradients) d.fix.use_edits(patches.no_grad(stack, is_free));
    std::vector<uint64_t> roots;
    for (const Occurrence& occurrence : group.occurrences) roots.push_back(occurrence.number);
    std::ranges::sort(roots);
    const auto graphs = static_cast<uint64_t>(std::ranges::unique(roots).begin() - roots.begin());
    d.notes.push_back(counted(graphs, "graph") + " of which no node was evaluated in the whole recording");
    return d;
  }

 private:
  void find_candidates(const Process& p, const Graphs& graphs) {
    const uint32_t rows = p.nodes.rows();
    is_candidate_ = graphs.never_differentiated(p);
    leads_to_evaluated_.assign(size_t{rows} + 1, false);
    for (uint32_t row = 1; row <= rows; ++row) {
      if (!is_candidate_[row]) continue;
      for (const uint32_t next : p.nodes.edges_of(NodeId{row})) {
        if (next != 0 && graphs.is_inner(NodeId{next}) && !is_candidate_[next]) leads_to_evaluated_[row] = true;
      }
    }
  }

  // Candidates with an edge between them are of one graph; its root is the node made last.
  void join_graphs(const Process& p) {
    const uint32_t rows = p.nodes.rows();
    root_.resize(size_t{rows} + 1);
    for (uint32_t row = 0; row <= rows; ++row) root_[row] = row;
    for (uint32_t row = 1; row <= rows; ++row) {
      if (!is_candidate_[row]) continue;
      for (const uint32_t next : p.nodes.edges_of(NodeId{row})) {
        if (next != 0 && is_candidate_[next]) join_two(row, next);
      }
    }
    for (uint32_t row = 1; row <= rows; ++row) {
      if (leads_to_evaluated_[row]) leads_to_evaluated_[root_of(row)] = true;
    }
  }
  uint32_t root_of(uint32_t row) {
    while (root_[row] != row) {
      root_[row] = root_[root_[row]];
      row = root_[row];
    }
    return row;
  }
  void join_two(uint32_t a, uint32_t b) {
    a = root_of(a);
    b = root_of(b);
    root_[std::min(a, b)] = std::max(a, b);
  }

  Variant variant(const Process& p, NodeId root) const {
    if (p.operators.evaluation[p.nodes.op[root]]) return kGradients;
    return leads_to_evaluated_[root.value] ? kBranch : kWhole;
  }

  std::vector<bool> is_candidate_, leads_to_evaluated_;  // by node; the latter of its graph's root in the end
  std::vector<uint32_t> root_;                           // by node
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::GraphWithoutBackward)
