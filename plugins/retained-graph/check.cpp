// Graphs that outlive their step and accumulate. The check analyzes the end of the step at which most of their nodes
// are alive. The entries of a step keep all its other nodes alive. An entry is a node to which no live node of the same
// step has an edge, or a node that leads back to earlier steps.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "analyzer/check/backwards.h"
#include "analyzer/check/graphs.h"
#include "analyzer/check/patch_maker.h"
#include "analyzer/check/reference.h"
#include "plugins/retained-graph/across_steps.h"
#include "plugins/retained-graph/keepers.h"
#include "trace/record.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kCarried = 0,    // the next step's graph refers to it: total += loss, a hidden state
  kCollected = 1,  // no graph refers to it: the program holds it, in a list of losses
  kGradients = 2,  // .grad refers to it: backward(create_graph=True)
  kContext = 3,    // its own output is an attribute of its ctx
  kHidden = 4,     // neither a graph nor a tensor of the program refers to it
};

constexpr Bytes kElement{8};  // largest element

constexpr Option kOptions[] = {
    {"min-steps", "3", "how many earlier steps' graphs must be alive together"},
};

class RetainedGraph final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "retained-graph",
            .title = "autograd graphs of earlier steps that are still referenced",
            .help =
                "Autograd nodes of earlier steps that are still alive, more of them with every step, because the "
                "program keeps a tensor with its graph: `total += loss`, a list of losses, a hidden state that is not "
                "detached. Nodes take memory even without saved tensors, and a backward through all of them takes "
                "longer with every step. Keep a detached value. Cycles keep graphs without any variable: gradients "
                "that backward(create_graph=True) leaves in .grad, and an output that a custom function keeps as an "
                "attribute of ctx.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const auto least = static_cast<size_t>(std::max<int64_t>(options.number("min-steps"), 1));
    const Process& p = context.process;
    const Graphs graphs(p, context.text);
    if (!find_fullest_step(context, graphs)) return;
    find_entries(p, graphs);
    find_backwards_into_the_past(context);

    std::set<NodeId> entries;
    for (const auto& [id, left] : left_) entries.insert(NodeId{id});
    keepers_.emplace(context, graphs, entries, context.steps[fullest_].when.end);
    // The steps that left nodes alive, by line and operator of their entries.
    std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> steps_of;
    const auto line = [&](NodeId entry) {
      const Place place = place_of_entry(context, entry);
      return std::pair(place.stack.value, p.operators.name[place.op].value);
    };
    for (const auto& [entry, left] : left_) steps_of[line(NodeId{entry})].insert(left.steps.begin(), left.steps.end());
    std::erase_if(entries, [&](NodeId entry) {
      return keepers_->of(entry) == KeptBy::gradient_graph || steps_of[line(entry)].size() < least;
    });

    for (const NodeId entry : entries) {
      sink.add({place_of_entry(context, entry),
                {},
                {},
                {p.nodes.time[entry], graphs.died(entry)},
                {},
                left_.at(entry.value).nodes},
               {}, variant(entry));
    }
    find_evaluated(p);
    add_saves(context, graphs, sink, entries);
    add_attributes(context, sink, entries);
    add_models(context, sink, entries);
    add_results(context, sink, entries);
  }

  Description describe(const Context& context, const Group& group) const override {
    uint64_t nodes = 0;
    std::set<uint32_t> steps;
    for (const Occurrence& occurrence : group.occurrences) {
      if (occurrence.number == 0) continue;  // a tensor
      nodes += occurrence.number;
      const Left& left = left_.at(occurrence.place.node.value);
      steps.insert(left.steps.begin(), left.steps.end());
    }
    const std::string step = std::to_string(number_of_first_ + fullest_);
    const Bytes bytes_a_step{group.bytes.value / static_cast<int64_t>(steps.size())};
    Description d;
    d.severity = grows_ ? Severity::error : Severity::warning;
    d.title = title(context, group);
    d.message = "At the end of step " + step + ", " + counted(nodes, "node") + " of " +
                counted(steps.size(), "earlier step") + " are still referenced, with " +
                (group.bytes.value == 0 ? "no tensor" : bytes_text(group.bytes) + " of tensors") + ", " +
                through(context, group);
    std::string counts;
    for (size_t s = fullest_ >= 4 ? fullest_ - 4 : 0; s <= fullest_; ++s) {
      counts += (counts.empty() ? "" : ", ") + std::to_string(retained_[s]);
    }
    d.notes.push_back("nodes of earlier steps at the ends of the steps up to step " + step + ": " + counts);
    if (grows_) {
      d.growth = bytes_a_step;
      d.message += " Each step adds " + counted(nodes / steps.size(), "node") +
                   (group.bytes.value == 0 ? "" : " and " + bytes_text(bytes_a_step)) + "." +
                   rate_text(context, bytes_a_step.value);
      d.notes.push_back("still growing when the recording ends");
    }
    d.edit = edit_of(context, group);
    d.fix.text = fix_text(context, group);
    if (group.variant == kCollected && !d.edit) d.fix.text += peak::variables_hint(context.process);
    if (group.variant != kCarried && group.variant != kCollected) return d;
    if (FileEdits patch = without_graph(context, group); !patch.empty()) {
      d.fix.text = "no backward goes through it: run it under torch.no_grad()";
      d.fix.use_edits(std::move(patch));
    } else {
      d.fix.use_edits(edits(context, group));
    }
    return d;
  }

 private:
  std::string attribute(const Context& context, const Group& group) const {
    const HeldId held = keepers_->own_output(group.biggest().place.node);
    return "ctx." + std::string(context.text.string(context.process.held.field[held]));
  }

  std::string title(const Context& context, const Group& group) const {
    const char* leak = grows_ ? " (memory leak)" : "";
    switch (group.variant) {
      case kGradients:
        return std::string("backward(create_graph=True) leaves gradients that keep their graphs") + leak;
      case kContext:
        return attribute(context, group) + " is the function's own output: a reference cycle" + leak;
      default:
        return std::string("autograd graphs of ") + (grows_ ? "all" : "earlier") + " steps are kept" + leak;
    }
  }

  // The rest of the sentence: the reference that keeps the graphs.
  std::string through(const Context& context, const Group& group) const {
    const std::string line = line_of(context, group.biggest().place);
    const std::string at = line.empty() ? "" : " at " + line, made = line.empty() ? "." : ", made" + at + ".";
    switch (group.variant) {
      case kCarried:
        return "through a tensor that is carried from one step to the next" + made;
      case kGradients:
        return "through gradients" + (line.empty() ? "" : " made" + at) +
               ". The graph of such a gradient leads back to its own parameter: a cycle, which stays when the model "
               "is dropped.";
      case kContext:
        return "through " + attribute(context, group) +
               ". The output refers to its node, the node to ctx and ctx to the output: neither the backward nor "
               "Python's garbage collector frees them.";
      case kHidden:
        return "whose results" + at + " are freed: no list of losses keeps them, but a hook, a closure or a grad_fn.";
      default:
        return "through a result of each step" + made;
    }
  }

  std::string fix_text(const Context& context, const Group& group) const {
    switch (group.variant) {
      case kCarried:
        return "carry a detached tensor: total += loss.detach() (or loss.item()), state = state.detach(), or each "
               "element of a tuple of states";
      case kGradients:
        return "use torch.autograd.grad(loss, parameters, create_graph=True), which does not write .grad, or set "
               "p.grad = None after the last use; leave out create_graph=True if nothing is differentiated twice";
      case kContext: {
        const std::string name = attribute(context, group).substr(4);
        return "ctx.save_for_backward(" + name + ") in forward instead, and " + name +
               ", = ctx.saved_tensors in backward";
      }
      case kHidden:
        return "release the references to the nodes: remove the handles of hooks, and keep no grad_fn and no closure "
               "over the output";
      default:
        return "keep loss.item() instead of the tensor with its graph, or loss.detach().clone() where a tensor is "
               "needed";
    }
  }

  // The number of steps until the device is full, rounded to two digits; empty: unknown, or more than any training has.
  static std::string rate_text(const Context& context, int64_t bytes_a_step) {
    if (!context.memory || bytes_a_step <= 0) return "";
    const int64_t left = std::max<int64_t>(0, (*context.memory - context.peak.bytes).value) / bytes_a_step;
    constexpr int64_t kMost = 10'000'000;
    if (left > kMost) return "";
    int64_t unit = 1;
    while (left / unit >= 100) unit *= 10;
    return " At this rate the " + bytes_text(*context.memory) + " of " +
           std::string(context.text.string(context.text.device_name[context.device])) + " are full after about " +
           counted(static_cast<uint64_t>((left + unit / 2) / unit * unit), "more step") + ".";
  }

  // The statement that carries the tensor to the next step, or that stores it.
  EditLine edit_of(const Context& context, const Group& group) const {
    const Place& place = group.biggest().place;
    if (group.variant == kGradients || group.variant == kHidden) return {};
    if (group.variant == kContext) {
      const HeldId held = keepers_->own_output(place.node);
      return attribute_line(context, place_of(context, context.process.held.allocation[held]).stack,
                            context.text.string(context.process.held.field[held]));
    }
    if (group.variant == kCarried) return {PatchMaker(context).carrying_frame(place.stack)};
    const auto found = reference_of(context, place);
    return found ? found->kept_for_long() : EditLine{};
  }

  // If no backward needs the graphs, graph-without-backward reports them too. Both checks then offer the same patch,
  // torch.no_grad(), which saves more memory than a detached value.
  FileEdits without_graph(const Context& context, const Group& group) const {
    const Graphs graphs(context.process, context.text);
    const std::vector<bool> is_free = graphs.never_differentiated(context.process);
    std::set<uint32_t> entries;
    for (const Occurrence& occurrence : group.occurrences) entries.insert(occurrence.place.node.value);
    for (uint32_t row = 1; row < entry_.size(); ++row) {
      if (entry_[row] != 0 && entries.contains(entry_[row]) && !is_free[row]) return {};
    }
    const auto is_spared = [&](NodeId node) { return is_free[node.value] || !graphs.is_inner(node); };
    return PatchMaker(context).no_grad(group.biggest().place.stack, FreeCalls(context, is_spared));
  }

  // Empty if a backward reaches earlier steps, because the program may intend that.
  FileEdits edits(const Context& context, const Group& group) const {
    if (differentiates_past_) return {};
    const Place& place = group.biggest().place;
    const PatchMaker patches(context);
    const bool is_number = makes_number(context, place.op);
    if (group.variant == kCollected)
      return patches.detach_collected(place.stack, is_number, owns_more(context, place.node));
    FileEdits edits = patches.detach_summand(place.stack, is_number);
    if (edits.empty()) {
      edits = patches.detach_carried(place.stack, context.text.string(context.process.operators.name[place.op]));
    }
    return edits;
  }

  void find_backwards_into_the_past(const Context& context) {
    const Process& p = context.process;
    differentiates_past_ = false;
    for (const EvaluationId evaluation : p.evaluations.ids()) {
      const uint32_t node = p.evaluations.node[evaluation].value;
      if (entry_[node] != 0 && born_[node] < place_at(context, p.evaluations.begin[evaluation])) {
        differentiates_past_ = true;
        return;
      }
    }
  }

  // The index of the step at a moment, among the recorded steps.
  static uint32_t place_at(const Context& context, Time time) {
    return step_at(context.steps, time).index - context.steps.front().index;
  }

  // Finds the step at whose end the most nodes of earlier steps are alive. False: no such node.
  bool find_fullest_step(const Context& context, const Graphs& graphs) {
    const Process& p = context.process;
    const std::vector<Step>& steps = context.steps;
    size_t complete = steps.size();
    if (steps.back().when.end == kNever) --complete;
    if (complete < 2) return false;
    number_of_first_ = steps.front().index;
    born_.assign(p.nodes.rows() + 1, 0);
    died_.assign(p.nodes.rows() + 1, 0);
    std::vector<int64_t> change(steps.size() + 2, 0);
    uint32_t born = 0;
    for (uint32_t row = 1; row <= p.nodes.rows(); ++row) {
      const NodeId node{row};
      while (born + 1 < steps.size() && steps[born + 1].when.begin <= p.nodes.time[node]) ++born;
      // The number of step ends before the node died. The part after the last complete step does not count.
      const Time end = graphs.died(node);
      const auto died = static_cast<uint32_t>(end >= steps[complete - 1].when.end ? complete : place_at(context, end));
      born_[row] = born;
      // The step of a node from omitted older steps is unknown, so it does not count.
      died_[row] = graphs.is_inner(node) && p.nodes.time[node] >= p.older.until ? died : 0;
      if (died_[row] <= born + 1) continue;
      ++change[born + 1];
      --change[died_[row]];
    }
    retained_.clear();
    int64_t alive = 0;
    for (size_t step = 0; step < complete; ++step) retained_.push_back(alive += change[step]);
    const auto most = std::max_element(retained_.rbegin(), retained_.rend());
    if (*most == 0) return false;
    fullest_ = static_cast<uint32_t>(retained_.rend() - most - 1);
    grows_ = fullest_ + 1 == complete && complete >= 3 && retained_[complete - 1] > retained_[complete - 2] &&
             retained_[complete - 2] > retained_[complete - 3] && !has_fallen_back();
    return true;
  }

  // Whether the program once released most of the retained nodes. Then it groups steps on purpose and does not leak.
  bool has_fallen_back() const {
    const int64_t last = retained_.back();
    int64_t most = 0;
    for (const int64_t kept : retained_) {
      if (most * 4 >= last && kept * 2 <= most) return true;
      most = std::max(most, kept);
    }
    return false;
  }

  bool is_retained(uint32_t row) const { return born_[row] < fullest_ && died_[row] > fullest_; }

  // Finds the entry of each retained node, and counts the nodes of each entry. Edges lead to older nodes. A forward
  // walk therefore visits the targets of a node before the node, and a backward walk visits its predecessors first.
  void find_entries(const Process& p, const Graphs& graphs) {
    const uint32_t rows = p.nodes.rows();
    std::vector<bool> leads_back(rows + 1, false);
    for (uint32_t row = 1; row <= rows; ++row) {
      if (!is_retained(row)) continue;
      for (const uint32_t next : p.nodes.edges_of(NodeId{row})) {
        if (next != 0 && is_retained(next) && (born_[next] != born_[row] || leads_back[next])) leads_back[row] = true;
      }
    }
    entry_.assign(rows + 1, 0);
    leads_on_.assign(rows + 1, false);
    for (uint32_t row = rows; row > 0; --row) {
      const bool lives = graphs.is_inner(NodeId{row}) && born_[row] <= fullest_ && died_[row] > fullest_;
      if (!lives) continue;
      if (is_retained(row)) {
        if (entry_[row] == 0) entry_[row] = row;
        Left& left = left_[entry_[row]];
        ++left.nodes;
        left.steps.insert(born_[row]);
      }
      for (const uint32_t next : p.nodes.edges_of(NodeId{row})) {
        if (next == 0 || next >= row || !is_retained(next)) continue;
        const bool is_same_step = born_[next] == born_[row];
        if (!is_same_step) leads_on_[next] = true;
        // If the next step adds a loss to a total, the total carries the loss and is its entry.
        if (entry_[next] == 0 && (is_same_step || !leads_back[next])) entry_[next] = entry_[row];
      }
    }
  }

  Variant variant(NodeId entry) const {
    switch (keepers_->of(entry)) {
      case KeptBy::context:
        return kContext;
      case KeptBy::gradient:
        return kGradients;
      case KeptBy::hidden:
        return leads_on_[entry.value] ? kCarried : kHidden;
      default:
        return leads_on_[entry.value] ? kCarried : kCollected;
    }
  }

  // The place of the entry; for gradients, the backward that made them.
  Place place_of_entry(const Context& context, NodeId entry) const {
    Place place = place_of(context, entry);
    if (keepers_->of(entry) != KeptBy::gradient) return place;
    Place backward{};
    backward.node = entry;
    backward.stack = stack_of_backward(context, context.process.nodes.time[entry]);
    return backward.stack ? backward : place;
  }

  void find_evaluated(const Process& p) {
    evaluated_.assign(p.nodes.rows() + 1, kNever.ns);
    for (uint32_t row = p.evaluations.rows(); row > 0; --row) {
      const EvaluationId evaluation{row};
      evaluated_[p.evaluations.node[evaluation].value] = p.evaluations.end[evaluation].ns;
    }
  }

  // The time until which a node needs its tensors, at most the end of the step that made the node.
  Time needed_until(const Context& context, NodeId node) const {
    return std::min(Time{evaluated_[node.value]}, context.steps[born_[node.value]].when.end);
  }

  // Adds the saves of retained nodes. Without the retained graph, the evaluation of the node would release them.
  void add_saves(const Context& context, const Graphs& graphs, Sink& sink, const std::set<NodeId>& entries) {
    const Process& p = context.process;
    const Time looked_at = context.steps[fullest_].when.end;
    std::vector<SaveId> saves;
    for (const SaveId save : p.saves.ids()) {
      const uint32_t node = p.saves.node[save].value;
      if (entry_[node] != 0 && p.saves.released[save] > looked_at && keeps_memory(context, save)) saves.push_back(save);
    }
    if (saves.empty()) return;
    std::vector<peak::WhatIf::End> never_made;
    for (const AllocationId allocation : made_for_the_past(context, graphs, born_)) {
      never_made.push_back({allocation, Time{p.allocations.time[allocation].ns - 1}});
    }
    EarlyReleases early(context);
    std::ranges::stable_sort(saves, {}, [&](SaveId save) { return p.saves.allocation[save]; });
    for (size_t first = 0; first < saves.size();) {
      const size_t end = end_of_allocation(p, saves, first);
      const std::span<const SaveId> all = std::span(saves).subspan(first, end - first);
      const NodeId entry{entry_[p.saves.node[all.front()].value]};
      Time until{0};
      for (const SaveId save : all) until = std::max(until, needed_until(context, p.saves.node[save]));
      first = end;
      if (!entries.contains(entry)) continue;
      const AllocationId allocation = p.saves.allocation[all.front()];
      const Occurrence occurrence{place_of_entry(context, entry),        allocation,  p.allocations.bytes[allocation],
                                  {until, p.saves.released[all.back()]}, all.front(), 0};
      peak::WhatIf change = early.change(all, until);
      change.ends = std::exchange(never_made, {});
      sink.add(occurrence, change, variant(entry));
    }
  }

  // `source`: the tensor that can replace the allocation, which is a copy of it; none: not such a copy.
  void add_end(const Context& context, Sink& sink, NodeId entry, AllocationId allocation, Time until,
               AllocationId source = {}) const {
    const Time freed = context.process.freed(allocation);
    if (until >= freed || !context.is_looked_at(allocation, Bytes{1})) return;
    peak::WhatIf change;
    if (source) change.aliases.push_back({allocation, source});
    change.ends.push_back({allocation, until});
    for (const SaveId save : context.provenance.saves(allocation)) {
      if (entry_[context.process.saves.node[save].value] != 0) change.without.push_back(save);
    }
    const Bytes bytes = context.process.allocations.bytes[allocation];
    sink.add({place_of_entry(context, entry), allocation, bytes, {until, freed}}, change, variant(entry));
  }

  // Adds the attributes on the ctx of the nodes. With save_for_backward they would be released like saved tensors.
  void add_attributes(const Context& context, Sink& sink, const std::set<NodeId>& entries) const {
    const Process& p = context.process;
    for (uint32_t row = 1; row <= p.held.rows(); ++row) {
      const HeldId held{row};
      const NodeId node = p.held.node[held], entry{entry_[node.value]};
      if (p.held.by[held] != trace::HeldBy::context || !entries.contains(entry)) continue;
      add_end(context, sink, entry, p.held.allocation[held], needed_until(context, node));
    }
  }

  void add_models(const Context& context, Sink& sink, const std::set<NodeId>& entries) const {
    for (const CycleEnd& one : models_in_cycles(context, *keepers_, entries, born_)) {
      add_end(context, sink, one.entry, one.allocation, one.until, one.copied);
    }
  }

  // Whether a scalar has the memory of more than one element.
  static bool owns_more(const Context& context, AllocationId result) {
    return context.process.allocations.bytes[result] > kElement && begins_backward(context, result);
  }
  bool owns_more(const Context& context, NodeId entry) const {
    return std::ranges::any_of(keepers_->results(entry),
                               [&](AllocationId result) { return owns_more(context, result); });
  }

  // Adds losses whose storage is larger than one element. Without its tensor, a loss as a number would hold no memory
  // once the next loss exists.
  void add_results(const Context& context, Sink& sink, const std::set<NodeId>& entries) const {
    if (differentiates_past_) return;
    std::map<uint32_t, Time> next_made;  // by stack
    for (const NodeId entry : entries | std::views::reverse) {
      if (variant(entry) != kCollected) continue;
      Time& next = next_made.try_emplace(place_of(context, entry).stack.value, kNever).first->second;
      const Time until = next;
      for (const AllocationId result : keepers_->results(entry)) {
        if (!owns_more(context, result)) continue;
        add_end(context, sink, entry, result, until);
        next = context.process.allocations.time[result];
      }
    }
  }

  std::vector<uint32_t> born_, died_;  // by node: index of the step; died: number of step ends if it never died
  std::vector<uint32_t> entry_;        // by node: its entry; 0: not retained
  std::vector<bool> leads_on_;         // by node: a later step's graph refers to it
  struct Left {
    uint64_t nodes = 0;
    std::set<uint32_t> steps;  // steps of the nodes
  };
  std::map<uint32_t, Left> left_;   // by entry
  std::vector<int64_t> evaluated_;  // by node: the end of its first evaluation; kNever: no evaluation
  std::optional<Keepers> keepers_;
  std::vector<int64_t> retained_;  // by step: nodes of earlier steps alive at its end
  uint32_t fullest_ = 0;           // index of the step with the most of them
  uint32_t number_of_first_ = 0;   // number of the first recorded step
  bool grows_ = false;
  bool differentiates_past_ = false;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::RetainedGraph)
