// Graphs that outlive their step and pile up. Looked at where most of them are alive: at the end of one step. What a
// step left behind hangs on its entries: nodes that no other living node of the same step leads to, or that lead back
// to earlier steps.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/check/graphs.h"
#include "analyzer/check/patch_maker.h"
#include "analyzer/check/reference.h"
#include "plugins/retained-graph/past.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kCarried = 0,    // the next step's graph leads to it: total += loss, a hidden state
  kCollected = 1,  // nothing leads to it: the program holds it, in a list of losses
};

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
                "program carries a live tensor on: `total += loss`, a list of losses, a hidden state that is not "
                "detached. A node may hold saved tensors; one that holds none costs memory of its own all the "
                "same, and a backward through all of them takes longer with every step. Carry on a detached "
                "value.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const auto least = static_cast<size_t>(std::max<int64_t>(options.number("min-steps"), 1));
    const Process& p = context.process;
    const Graphs graphs(p, context.text);
    if (!find_fullest_step(context, graphs)) return;
    find_entries(p, graphs);
    find_backwards_into_the_past(context);

    // Of one line and operator: in how many steps something was left behind.
    std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> steps_of;
    const auto line = [&](NodeId entry) {
      const Place place = place_of(context, entry);
      return std::pair(place.stack.value, p.operators.name[place.op].value);
    };
    for (const auto& [entry, left] : left_) steps_of[line(NodeId{entry})].insert(left.steps.begin(), left.steps.end());

    for (const auto& [id, left] : left_) {
      const NodeId entry{id};
      if (steps_of[line(entry)].size() < least) continue;
      sink.add({place_of(context, entry), {}, {}, {p.nodes.time[entry], graphs.died(entry)}, {}, left.nodes}, {},
               variant(entry));
    }
    add_saves(context, graphs, sink, [&](NodeId entry) { return steps_of[line(entry)].size() >= least; });
  }

  Description describe(const Context& context, const Group& group) const override {
    uint64_t nodes = 0;
    std::set<uint32_t> steps;
    for (const Occurrence& occurrence : group.occurrences) {
      if (occurrence.number == 0) continue;  // a saved tensor
      nodes += occurrence.number;
      const Left& left = left_.at(occurrence.place.node.value);
      steps.insert(left.steps.begin(), left.steps.end());
    }
    const std::string line = line_of(context, group.biggest().place);
    const std::string held = group.bytes.value == 0 ? "no saved tensor" : bytes_text(group.bytes) + " of saved tensors";
    const std::string step = std::to_string(number_of_first_ + fullest_);
    Description d;
    d.severity = grows_ ? Severity::error : Severity::warning;
    d.title =
        grows_ ? "autograd graphs of all steps are kept (memory leak)" : "autograd graphs of earlier steps are kept";
    d.message = "At the end of step " + step + ", " + counted(nodes, "node") + " of " +
                counted(steps.size(), "earlier step") + " are still referenced, with " + held + ", through " +
                (group.variant == kCarried ? "what is carried from one step to the next" : "a result of each step") +
                (line.empty() ? "." : ", made at " + line + ".");
    std::string counts;
    for (size_t s = fullest_ >= 4 ? fullest_ - 4 : 0; s <= fullest_; ++s) {
      counts += (counts.empty() ? "" : ", ") + std::to_string(retained_[s]);
    }
    d.notes.push_back("nodes of earlier steps at the ends of the steps up to step " + step + ": " + counts);
    if (grows_) {
      d.message += " Each step adds " + counted(nodes / steps.size(), "node") +
                   (group.bytes.value == 0
                        ? ""
                        : " and " + bytes_text(Bytes{group.bytes.value / static_cast<int64_t>(steps.size())})) +
                   "." + rate_text(context, group.bytes.value / static_cast<int64_t>(steps.size()));
      d.notes.push_back("still growing when the recording ends");
    }
    d.fix.text = group.variant == kCarried
                     ? "carry a detached tensor: total += loss.detach() (or loss.item()), state = state.detach()"
                     : "keep loss.item() or loss.detach() instead of the tensor with its graph";
    d.edit = edit_of(context, group);
    if (FileEdits patch = without_graph(context, group); !patch.empty()) {
      d.fix.text = "no backward goes through it: run it under torch.no_grad()";
      d.fix.use_edits(std::move(patch));
    } else {
      d.fix.use_edits(edits(context, group));
    }
    return d;
  }

 private:
  // When that is the end of it, to two digits; empty: not known.
  static std::string rate_text(const Context& context, int64_t bytes_a_step) {
    if (!context.memory || bytes_a_step <= 0) return "";
    const int64_t left = std::max<int64_t>(0, (*context.memory - context.peak.bytes).value) / bytes_a_step;
    int64_t unit = 1;
    while (left / unit >= 100) unit *= 10;
    return " At this rate the " + bytes_text(*context.memory) + " of " +
           std::string(context.text.string(context.text.device_name[context.device])) + " are full after about " +
           counted(static_cast<uint64_t>((left + unit / 2) / unit * unit), "more step") + ".";
  }

  // Where the tensor is carried on, or put aside.
  static EditLine edit_of(const Context& context, const Group& group) {
    const Place& place = group.biggest().place;
    if (group.variant == kCarried) return {PatchMaker(context).carrying_frame(place.stack)};
    const auto found = reference_of(context, place);
    return found ? found->kept_for_long() : EditLine{};
  }

  // Where no backward goes through it, graph-without-backward finds the same: one patch for one bug, and that one
  // spares more.
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

  // None where a backward goes on into earlier steps: the program may want just that.
  FileEdits edits(const Context& context, const Group& group) const {
    if (differentiates_past_) return {};
    const Place& place = group.biggest().place;
    const PatchMaker patches(context);
    const bool is_number = makes_number(context, place.op);
    if (group.variant == kCollected) return patches.detach_collected(place.stack, is_number);
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

  // Of the step that a moment belongs to, among those that are there.
  static uint32_t place_at(const Context& context, Time time) {
    return step_at(context.steps, time).index - context.steps.front().index;
  }

  // At whose end the most nodes of earlier steps are alive.
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
      // At the ends of how many steps it might have been alive: what follows the last border is of no step.
      const Time end = graphs.died(node);
      const auto died = static_cast<uint32_t>(end >= steps[complete - 1].when.end ? complete : place_at(context, end));
      born_[row] = born;
      // Of what steps that were left out made, nobody knows the step.
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
             retained_[complete - 2] > retained_[complete - 3];
    return true;
  }

  bool is_retained(uint32_t row) const { return born_[row] < fullest_ && died_[row] > fullest_; }

  // The entry of each retained node, and how many nodes each has. Edges lead to nodes that were made before, so a walk
  // forth sees what a node leads to, and one back what leads to it.
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
        // A loss that was added to a total in the step after: the total is what carries it.
        if (entry_[next] == 0 && (is_same_step || !leads_back[next])) entry_[next] = entry_[row];
      }
    }
  }

  Variant variant(NodeId entry) const { return leads_on_[entry.value] ? kCarried : kCollected; }

  // What the graphs hold besides themselves. Without them, a save would have gone when its node was evaluated.
  template <class Wanted>
  void add_saves(const Context& context, const Graphs& graphs, Sink& sink, Wanted is_wanted) {
    const Process& p = context.process;
    const Time looked_at = context.steps[fullest_].when.end;
    std::vector<SaveId> saves;
    for (const SaveId save : p.saves.ids()) {
      const uint32_t node = p.saves.node[save].value;
      if (entry_[node] != 0 && p.saves.released[save] > looked_at && keeps_memory(context, save)) saves.push_back(save);
    }
    if (saves.empty()) return;
    std::vector<int64_t> evaluated(p.nodes.rows() + 1, kNever.ns);
    for (uint32_t row = p.evaluations.rows(); row > 0; --row) {
      const EvaluationId evaluation{row};
      evaluated[p.evaluations.node[evaluation].value] = p.evaluations.end[evaluation].ns;
    }
    std::vector<peak::WhatIf::End> never_made;
    for (const AllocationId allocation : made_for_the_past(context, graphs, born_)) {
      never_made.push_back({allocation, Time{p.allocations.time[allocation].ns - 1}});
    }
    EarlyReleases early(context);
    std::ranges::stable_sort(saves, {}, [&](SaveId save) { return p.saves.allocation[save]; });
    for (size_t first = 0; first < saves.size();) {
      const size_t end = end_of_allocation(p, saves, first);
      const std::span<const SaveId> all = std::span(saves).subspan(first, end - first);
      const uint32_t node = p.saves.node[all.front()].value;
      const NodeId entry{entry_[node]};
      Time until{0};
      for (const SaveId save : all) {
        const uint32_t of = p.saves.node[save].value;
        until = std::max(until, std::min(Time{evaluated[of]}, context.steps[born_[of]].when.end));
      }
      first = end;
      if (!is_wanted(entry)) continue;
      const AllocationId allocation = p.saves.allocation[all.front()];
      const Occurrence occurrence{place_of(context, entry),
                                  allocation,
                                  p.allocations.bytes[allocation],
                                  {until, p.saves.released[all.back()]},
                                  all.front(),
                                  0};
      peak::WhatIf change = early.change(all, until);
      change.ends = std::exchange(never_made, {});
      sink.add(occurrence, change, variant(entry));
    }
  }

  std::vector<uint32_t> born_, died_;  // by node: place of the step; died: how many there are if it never did
  std::vector<uint32_t> entry_;        // by node: its entry; 0: not retained
  std::vector<bool> leads_on_;         // by node: a later step's graph leads to it
  struct Left {
    uint64_t nodes = 0;
    std::set<uint32_t> steps;  // that they are of
  };
  std::map<uint32_t, Left> left_;  // by entry
  std::vector<int64_t> retained_;  // by step: nodes of earlier ones alive at its end
  uint32_t fullest_ = 0;           // its place among them
  uint32_t number_of_first_ = 0;   // of them
  bool grows_ = false;
  bool differentiates_past_ = false;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::RetainedGraph)
