// Finds saves that no backward ever unpacks, because no backward evaluates their graph. Also finds saves that no
// backward unpacks again, although the program kept their graph.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/check/backwards.h"
#include "analyzer/check/graphs.h"
#include "analyzer/check/interruptions.h"
#include "analyzer/check/patch_maker.h"
#include "analyzer/model/most_at_once.h"
#include "trace/record.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kWhole = 0,      // no part of the graph was differentiated: an evaluation without no_grad
  kBranch = 1,     // a branch of a differentiated graph: a metric of the live loss
  kGradients = 2,  // a backward made the graph: create_graph without a second backward
  kKept = 3,       // differentiated once, and kept for a second backward that never ran: retain_graph
};

constexpr Option kOptions[] = {
    {"min-percent", "1", "percent of the peak that the graphs of one line must save at one time"},
};

// A save of a graph that a backward kept. Without retain_graph or create_graph, the backward releases the save.
struct KeptSave {
  SaveId save;
  Time evaluated;     // end of the evaluation of its node
  uint32_t backward;  // index into Process::backwards
};

// Saves of backwards that kept their graph (retain_graph=True, create_graph=True) although no node of it was evaluated
// again. Sorted by allocation, then by backward. Excludes all backwards of a line if a later backward needed one of
// their graphs.
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

class GraphWithoutBackward final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "graph-without-backward",
            .title = "graphs that are never differentiated",
            .help =
                "Tensors that autograd saved in graphs that no backward evaluates: an evaluation or a metric with "
                "gradients enabled. They stay until the last output of the graph dies. Under torch.no_grad() autograd "
                "saves nothing. The check also finds graphs that retain_graph=True or create_graph=True keeps and no "
                "backward evaluates again.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Graphs graphs(p, context.text);
    find_candidates(context, graphs);
    join_graphs(p);
    const Interruptions interruptions(p);
    std::vector<SaveId> found, besides;  // saves that keep memory, and the others
    for (const SaveId save : p.saves.ids()) {
      const NodeId node = p.saves.node[save];
      if (!is_candidate_[node.value] || !p.saves.allocation[save]) continue;
      const NodeId root{root_of(node.value)};
      // The program may have intended a backward that an interruption prevented.
      if (interruptions.cut({p.nodes.time[root], graphs.died(root)})) continue;
      (keeps_memory(context, save) ? found : besides).push_back(save);
    }
    const Bytes least{context.peak.bytes.value / 100 * options.number("min-percent")};
    add_kept(context, graphs, least, sink);
    leave_out_small(context, least, found);
    if (found.empty()) return;
    find_calls(context, graphs, found);
    std::unordered_map<uint32_t, std::vector<SaveId>> holding_nothing;  // by root
    for (const SaveId save : besides) holding_nothing[root_of(p.saves.node[save].value)].push_back(save);
    for (const SaveId save : found) {
      const NodeId root{root_of(p.saves.node[save].value)};
      const AllocationId allocation = p.saves.allocation[save];
      const Interval when{std::max(p.saves.time[save], context.lifetimes.program_end(allocation)),
                          p.saves.released[save]};
      peak::WhatIf change;
      change.without = std::exchange(holding_nothing[root.value], {});
      change.without.push_back(save);
      const Variant kind = variant(p, root);
      const Place place = kind == kGradients
                              ? place_of_backward(context, p.nodes.time[root])
                              : place_of(context, last_of_call_.at(call_of(context, p.saves.node[save])));
      sink.add({place, allocation, p.allocations.bytes[allocation], when, save, root.value}, change, kind);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    Description d;
    const StackId stack = group.biggest().place.stack;
    if (group.variant == kWhole || group.variant == kBranch) {
      const Patched& patched = by_last_.at(group.biggest().place.node);
      d.edit = {patched.call};
      d.fix.use_edits(PatchMaker(context).no_grad(patched.stack, *free_));
    }
    const std::string line =
        d.edit ? peak::frame_text(context.text, d.edit.frame) : line_of(context, group.biggest().place);
    const std::string at = line.empty() ? std::string() : " at " + line;
    const std::string bytes = bytes_text(group.bytes);
    switch (group.variant) {
      case kBranch:
        d.title = "a branch of the graph is saved but never differentiated";
        d.message = "The branch computed" + at + " from a tensor of the training graph is never differentiated; " +
                    bytes + " are saved for it.";
        d.fix.text = "compute it from detached tensors (x.detach()), or under torch.no_grad()";
        break;
      case kGradients:
        d.title = "create_graph=True, but no second backward";
        d.message = "The gradients" + at + " were made with their own graph, which is never differentiated; it saves " +
                    bytes + ".";
        d.fix.text = "leave out create_graph=True";
        break;
      case kKept:
        d.title = "retain_graph=True, but no second backward";
        d.message = "The backward" + at + " keeps its graph, but no backward evaluates it again; " + bytes +
                    " stay saved until the last output of the graph is released.";
        d.fix.text = "leave out retain_graph=True";
        d.fix.is_small = true;
        break;
      default:
        if (!d.edit && own_frame(context.text, stack)) {
          d.title = "dropped graphs of a call that is differentiated at other times";
          d.message = "Some results of this call are never differentiated, others are. The unused results keep " +
                      bytes + " until the program releases them.";
          d.fix.text =
              "release unused results before the next call: del them; in an except block, leave the block first (a "
              "caught exception keeps the variables of its frames), and keep no exception; run calls that need no "
              "gradients under torch.set_grad_enabled(False)";
          break;
        }
        d.title = "forward with gradients enabled, but no backward()";
        if (d.edit && free_->needed()[d.edit.frame.value] != 0) {
          d.message = "Nothing that the module computes for this line is differentiated, but autograd saved " + bytes +
                      " for it. A backward needs other results of the line.";
          d.fix.text = "move the call of the module to a separate statement, under torch.no_grad()";
          break;
        }
        d.message = "Nothing that is computed here is differentiated, but autograd saved " + bytes + " for it.";
        d.fix.text = "run it under torch.no_grad() or torch.inference_mode()";
    }
    if (group.variant == kKept) return d;
    std::vector<uint64_t> roots;
    for (const Occurrence& occurrence : group.occurrences) roots.push_back(occurrence.number);
    std::ranges::sort(roots);
    const auto graphs = static_cast<uint64_t>(std::ranges::unique(roots).begin() - roots.begin());
    d.notes.push_back(counted(graphs, "graph") + " of which no node was evaluated in the whole recording");
    return d;
  }

 private:
  // The place has only the line, because a backward runs many operators.
  static Place place_of_backward(const Context& context, Time when) {
    Place place{};
    place.stack = stack_of_backward(context, when);
    return place;
  }

  static void add_kept(const Context& context, const Graphs& graphs, Bytes least, Sink& sink) {
    const Process& p = context.process;
    const std::vector<KeptSave> kept = kept_for_nothing(context, graphs);
    const auto next = [&](size_t first) {
      size_t end = first + 1;
      const AllocationId allocation = p.saves.allocation[kept[first].save];
      while (end < kept.size() && kept[end].backward == kept[first].backward &&
             p.saves.allocation[kept[end].save] == allocation) {
        ++end;
      }
      return end;
    };
    const auto line_of = [&](const Backward& backward) {
      return own_frame(context.text, stack_of_backward(context, backward.begin));
    };
    std::map<FrameId, std::vector<Presence>> by_line;
    for (const KeptSave& one : kept) {
      const AllocationId allocation = p.saves.allocation[one.save];
      by_line[line_of(p.backwards[one.backward])].push_back(
          {allocation, p.allocations.bytes[allocation], {one.evaluated, p.saves.released[one.save]}});
    }
    // A change of a line changes all of its graphs.
    const std::set<FrameId> lines = lines_with_at_least(std::max(least, Bytes{1}), std::move(by_line));
    EarlyReleases early(context);
    for (size_t first = 0, end = 0; first < kept.size(); first = end) {
      end = next(first);
      const Backward& backward = p.backwards[kept[first].backward];
      if (!lines.contains(line_of(backward))) continue;
      std::vector<SaveId> saves;
      Time until{0}, released{0};
      for (size_t i = first; i < end; ++i) {
        saves.push_back(kept[i].save);
        until = std::max(until, kept[i].evaluated);
        released = std::max(released, p.saves.released[kept[i].save]);
      }
      const AllocationId allocation = p.saves.allocation[saves.front()];
      const bool creates = (backward.flags & trace::kBackwardCreatesGraph) != 0;
      sink.add({place_of_backward(context, backward.begin),
                allocation,
                p.allocations.bytes[allocation],
                {until, released},
                saves.front(),
                p.saves.node[saves.front()].value},
               early.change(saves, until), creates ? kGradients : kKept);
    }
  }

  // Leaves out the saves of lines whose graphs together save less than `least` at any time.
  void leave_out_small(const Context& context, Bytes least, std::vector<SaveId>& found) {
    const Process& p = context.process;
    std::unordered_map<uint32_t, StackId> line_of;  // by root
    std::map<StackId, std::vector<Presence>> by_line;
    for (const SaveId save : found) {
      const NodeId root{root_of(p.saves.node[save].value)};
      const auto [at, is_new] = line_of.try_emplace(root.value);
      if (is_new) {
        at->second = variant(p, root) == kGradients ? stack_of_backward(context, p.nodes.time[root])
                                                    : stack_of(p, context.text, p.nodes.op[root]);
      }
      const AllocationId allocation = p.saves.allocation[save];
      by_line[at->second].push_back(
          {allocation, p.allocations.bytes[allocation], {p.saves.time[save], p.saves.released[save]}});
    }
    const std::set<StackId> large = lines_with_at_least(least, std::move(by_line));
    std::erase_if(found, [&](SaveId save) { return !large.contains(line_of.at(root_of(p.saves.node[save].value))); });
  }

  // The calls that make the graphs. Each call is one place, and its last node represents it.
  using Call = std::pair<uint32_t, uint32_t>;  // root, frame
  struct Patched {
    FrameId call;
    StackId stack;  // goes through the call, if any does: the last operator may be in a later statement
  };
  Call call_of(const Context& context, NodeId node) {
    const StackId stack = stack_of(context.process, context.text, context.process.nodes.op[node]);
    const uint32_t root = root_of(node.value);
    return {root, calls_.at({root, stack.value}).value};
  }
  void find_calls(const Context& context, const Graphs& graphs, const std::vector<SaveId>& saves) {
    const Process& p = context.process;
    free_.emplace(context, [this, graphs](NodeId node) { return is_candidate_[node.value] || !graphs.is_inner(node); });
    std::map<uint32_t, std::set<FrameId>> of_modules;  // by root
    for (const bool in_modules : {true, false}) {
      for (const SaveId save : saves) {
        const NodeId node = p.saves.node[save];
        const StackId stack = stack_of(p, context.text, p.nodes.op[node]);
        const uint32_t root = root_of(node.value);
        if (free_->is_in_module(stack) != in_modules || calls_.contains({root, stack.value})) continue;
        const FrameId call = in_modules ? free_->call(stack) : call_beside(context.text, stack, of_modules[root]);
        if (in_modules && call) of_modules[root].insert(call);
        calls_.emplace(std::pair(root, stack.value), call);
      }
    }
    for (const SaveId save : saves) {
      const NodeId node = p.saves.node[save];
      NodeId& last = last_of_call_[call_of(context, node)];
      if (last < node) last = node;
    }
    std::map<Call, StackId> through;
    for (const auto& [of, call] : calls_) {
      const auto frames = context.text.stack(StackId{of.second});
      if (std::ranges::find(frames, call) != frames.end()) through[{of.first, call.value}] = StackId{of.second};
    }
    for (const auto& [call, last] : last_of_call_) {
      const auto at = through.find(call);
      const StackId stack = at != through.end() ? at->second : stack_of(p, context.text, p.nodes.op[last]);
      by_last_.emplace(last, Patched{FrameId{call.second}, stack});
    }
  }
  // An operator on a module's result, in the function that calls the module or inside a call from it, belongs to the
  // module's call.
  FrameId call_beside(const Text& text, StackId stack, const std::set<FrameId>& calls) const {
    for (const FrameId frame : text.stack(stack)) {
      const auto beside = std::ranges::find_if(calls, [&](FrameId call) {
        return text.frame_file[call] == text.frame_file[frame] &&
               text.frame_function[call] == text.frame_function[frame];
      });
      if (beside != calls.end()) return *beside;
    }
    return free_->call(stack);
  }

  void find_candidates(const Context& context, const Graphs& graphs) {
    const Process& p = context.process;
    const uint32_t rows = p.nodes.rows();
    is_candidate_ = graphs.never_differentiated(p);
    is_created_ = created_for_nothing(context, graphs);
    for (uint32_t row = 1; row <= rows; ++row) {
      if (is_created_[row]) is_candidate_[row] = true;
    }
    leads_to_evaluated_.assign(size_t{rows} + 1, false);
    for (uint32_t row = 1; row <= rows; ++row) {
      if (!is_candidate_[row]) continue;
      for (const uint32_t next : p.nodes.edges_of(NodeId{row})) {
        if (next != 0 && graphs.is_inner(NodeId{next}) && !is_candidate_[next]) leads_to_evaluated_[row] = true;
      }
    }
  }

  // Candidates with an edge between them belong to one graph. Its root is the node made last.
  void join_graphs(const Process& p) {
    const uint32_t rows = p.nodes.rows();
    root_.resize(size_t{rows} + 1);
    for (uint32_t row = 0; row <= rows; ++row) root_[row] = row;
    for (uint32_t row = 1; row <= rows; ++row) {
      if (!is_candidate_[row]) continue;
      for (const uint32_t next : p.nodes.edges_of(NodeId{row})) {
        // A graph that is computed from gradients with a graph counts as a separate graph.
        if (next != 0 && is_candidate_[next] && is_of_backward(p, NodeId{row}) == is_of_backward(p, NodeId{next})) {
          join_two(row, next);
        }
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

  bool is_of_backward(const Process& p, NodeId node) const {
    return is_created_[node.value] || bool{p.operators.evaluation[p.nodes.op[node]]};
  }

  Variant variant(const Process& p, NodeId root) const {
    if (is_of_backward(p, root)) return kGradients;
    return leads_to_evaluated_[root.value] ? kBranch : kWhole;
  }

  std::vector<bool> is_created_;                            // by node: a backward made it, and none evaluated it
  std::vector<bool> is_candidate_, leads_to_evaluated_;     // by node; the second also by graph, at its root
  std::vector<uint32_t> root_;                              // by node
  std::optional<FreeCalls> free_;                           // empty without candidates
  std::map<std::pair<uint32_t, uint32_t>, FrameId> calls_;  // by root and stack
  std::map<Call, NodeId> last_of_call_;
  std::map<NodeId, Patched> by_last_;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::GraphWithoutBackward)
