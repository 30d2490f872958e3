// Parts of a backward that lead only to unread gradients.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/check/graphs.h"
#include "analyzer/check/patch_maker.h"
#include "analyzer/model/most_at_once.h"
#include "plugins/unused-gradient/accumulations.h"
#include "trace/record.h"

namespace tapelens::check {
namespace {

constexpr Option kOptions[] = {
    {"min-percent", "1", "percent of the peak that the parts of one line must save at one time"},
};

class UnusedGradient final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "unused-gradient",
            .title = "parts of a backward whose gradients are never read",
            .help =
                "Autograd nodes that a backward evaluates only for gradients of parameters that no optimizer step or "
                "other operator reads: a generator in the discriminator's step, a teacher, a backbone that is not "
                "trained. The program zeroes, frees or leaves these gradients, so their saved tensors are kept "
                "without use. Run that part under torch.no_grad(), or detach its output.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Accumulations accumulations(context);
    if (!accumulations.any_unused()) return;
    const Process& p = context.process;
    const Graphs graphs(p, context.text);
    entry_.assign(p.nodes.rows() + 1, 0);
    is_needed_.assign(p.nodes.rows() + 1, false);
    entry_of_evaluation_.assign(p.evaluations.rows() + 1, 0);
    leads_into_.assign(p.evaluations.rows() + 1, 0);
    leads_.assign(p.nodes.rows() + 1, 0);
    is_led_to_.assign(p.nodes.rows() + 1, false);
    find_nested(p);
    uint32_t first = 1;
    for (const Interval& backward : context.phases.backwards()) {
      const auto at = [&](Time time) {
        const auto& begins = p.evaluations.begin.raw;
        return static_cast<uint32_t>(
            std::lower_bound(begins.begin() + first, begins.end(), static_cast<uint64_t>(time.ns)) - begins.begin());
      };
      first = at(backward.begin);
      const uint32_t end = backward.end == kNever ? p.evaluations.rows() + 1 : at(backward.end);
      follow(p, graphs, accumulations, first, end);
      first = end;
    }
    emit(context, accumulations, options.number("min-percent"), sink);
  }

  Description describe(const Context& context, const Group& group) const override {
    const std::string line = line_of(context, group.biggest().place);
    Description d;
    d.title = "a part of the backward makes gradients that are never read";
    d.message = "The backward continues through the graph made" + (line.empty() ? "" : " at " + line) +
                ", but the program drops all gradients of that part before any operator reads them: " +
                bytes_text(group.bytes) + " of saved tensors are kept for that.";
    d.notes.push_back(counted(group.biggest().number, "node") +
                      " evaluated in one backward, whose gradients no operator reads");
    d.fix.text =
        "run it under torch.no_grad(); x = part(x).detach() also releases its graph, but only after it is made";
    // The root of a backward must require a gradient.
    if (is_led_to_[group.biggest().place.node.value]) {
      const Graphs graphs(context.process, context.text);
      const auto is_free = [&](NodeId node) {
        return !graphs.is_inner(node) || (entry_[node.value] != 0 && !is_needed_[node.value]);
      };
      const PatchMaker patches(context);
      const StackId stack = group.biggest().place.stack;
      const FreeCalls calls(context, is_free);
      FileEdits edits = patches.no_grad_argument(stack, calls);
      if (edits.empty()) edits = patches.no_grad(stack, calls);
      d.fix.use_edits(std::move(edits));
    }
    return d;
  }

 private:
  enum Leads : uint8_t { kNotHere = 0, kUseful = 1, kUseless = 2 };

  // Custom functions that run a nested backward (reentrant checkpoints). The results of the nested backward are unknown
  // here.
  void find_nested(const Process& p) {
    has_backward_.assign(p.nodes.rows() + 1, false);
    std::vector<EvaluationId> open;  // began before the backward and may have ended, innermost last
    uint32_t next = 1;
    Time until{0};
    for (const Interval& backward : p.backwards) {
      for (; next <= p.evaluations.rows() && p.evaluations.begin[EvaluationId{next}] <= backward.begin; ++next) {
        open.push_back(EvaluationId{next});
      }
      while (!open.empty() && p.evaluations.end[open.back()] < backward.begin) open.pop_back();
      if (backward.begin < until && !open.empty()) has_backward_[p.evaluations.node[open.back()].value] = true;
      until = std::max(until, backward.end);
    }
  }

  // One backward: evaluations [first, end). A node is evaluated after all nodes that lead to it.
  void follow(const Process& p, const Graphs& graphs, const Accumulations& accumulations, uint32_t first,
              uint32_t end) {
    bool any = false;
    for (uint32_t row = end; row-- > first;) {
      const EvaluationId evaluation{row};
      const NodeId node = p.evaluations.node[evaluation];
      const bool useless = graphs.is_inner(node) ? is_useless(p, node) : accumulations.is_unused(evaluation);
      leads_[node.value] = useless ? kUseless : kUseful;
      any |= useless;
    }
    if (any) {
      for (uint32_t row = first; row < end; ++row) {
        const NodeId node = p.evaluations.node[EvaluationId{row}];
        if (!graphs.is_inner(node)) continue;
        const bool useless = leads_[node.value] == kUseless;
        if (useless && entry_[node.value] == 0) entry_[node.value] = node.value;
        if (useless) entry_of_evaluation_[row] = entry_[node.value];
        for (const uint32_t next : p.nodes.edges_of(node)) {
          if (next == 0 || leads_[next] != kUseless || !graphs.is_inner(NodeId{next})) continue;
          if (entry_[next] == 0) entry_[next] = useless ? entry_[node.value] : next;
          if (!useless) leads_into_[row] = entry_[next];
          if (!useless) is_led_to_[next] = true;
        }
      }
    }
    for (uint32_t row = first; row < end; ++row) {
      const uint32_t node = p.evaluations.node.raw[row];
      if (leads_[node] == kUseful) is_needed_[node] = true;
      leads_[node] = kNotHere;
    }
  }

  // If an edge leads to a node that this backward did not evaluate, the program may have requested that gradient
  // itself.
  bool is_useless(const Process& p, NodeId node) const {
    if (has_backward_[node.value] || (p.nodes.flags[node] & trace::kNodeHasUnseenEdges) != 0) return false;
    bool any = false;
    for (const uint32_t next : p.nodes.edges_of(node)) {
      if (next == 0) continue;
      if (leads_[next] != kUseless) return false;
      any = true;
    }
    return any;
  }

  struct Part {
    StackId line;
    std::vector<SaveId> saves;
    std::vector<peak::WhatIf::End> never_made;
    uint64_t nodes = 0;
  };

  void emit(const Context& context, const Accumulations& accumulations, int64_t percent, Sink& sink) {
    const Process& p = context.process;
    std::map<uint32_t, Part> parts;  // by entry
    std::map<StackId, std::vector<Presence>> by_line;
    for (const SaveId save : p.saves.ids()) {
      const uint32_t node = p.saves.node[save].value;
      if (entry_[node] == 0 || is_needed_[node] || !keeps_memory(context, save)) continue;
      const auto [at, is_new] = parts.try_emplace(entry_[node]);
      Part& part = at->second;
      if (is_new) part.line = place_of(context, NodeId{entry_[node]}).stack;
      part.saves.push_back(save);
      const AllocationId allocation = p.saves.allocation[save];
      by_line[part.line].push_back(
          {allocation, p.allocations.bytes[allocation], {p.saves.time[save], p.saves.released[save]}});
    }
    const Bytes least{context.peak.bytes.value / 100 * percent};
    const std::set<StackId> large = lines_with_at_least(least, std::move(by_line));
    std::erase_if(parts, [&](const auto& part) { return !large.contains(part.second.line); });
    if (parts.empty()) return;
    for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) {
      if (const auto part = parts.find(entry_of_evaluation_[row]); part != parts.end()) ++part->second.nodes;
    }
    for (const AllocationId allocation : p.allocations.ids()) {
      const EvaluationId evaluation = p.allocations.evaluation[allocation];
      if (!evaluation || accumulations.is_ever_used(allocation)) continue;
      const uint32_t within = entry_of_evaluation_[evaluation.value];
      const uint32_t into = within == 0 ? leads_into_[evaluation.value] : 0;
      const auto part = parts.find(within != 0 ? within : into);
      if (part == parts.end() || (into != 0 && !is_for_nothing(context, allocation))) continue;
      part->second.never_made.push_back({allocation, Time{p.allocations.time[allocation].ns - 1}});
    }
    for (auto& [entry, part] : parts) {
      const Place place = place_of(context, NodeId{entry});
      for (const SaveId save : part.saves) {
        const AllocationId allocation = p.saves.allocation[save];
        peak::WhatIf change;
        change.without.push_back(save);
        change.ends = std::exchange(part.never_made, {});
        sink.add({place,
                  allocation,
                  p.allocations.bytes[allocation],
                  {std::max(p.saves.time[save], context.lifetimes.program_end(allocation)), p.saves.released[save]},
                  save,
                  part.nodes},
                 change);
      }
    }
  }

  // A gradient that a necessary node made and no necessary node reads.
  bool is_for_nothing(const Context& context, AllocationId gradient) const {
    const Process& p = context.process;
    bool any = false;
    for (const OperatorId op : context.provenance.uses(gradient)) {
      const EvaluationId reader = p.operators.evaluation[op];
      if (reader == p.allocations.evaluation[gradient]) continue;
      if (!reader || entry_of_evaluation_[reader.value] == 0) return false;
      any = true;
    }
    return any;
  }

  std::vector<uint32_t> entry_;                // 0, or for a node that was useless in a backward: place of the detach
  std::vector<bool> is_needed_;                // by node: some backward needed it
  std::vector<bool> is_led_to_;                // by useless node: a useful node leads to it
  std::vector<bool> has_backward_;             // by node
  std::vector<uint32_t> entry_of_evaluation_;  // by evaluation that was useless
  std::vector<uint32_t> leads_into_;  // by useful evaluation whose node leads to a useless one: entry_ of that one
  std::vector<uint8_t> leads_;        // by node, in the current backward
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::UnusedGradient)
