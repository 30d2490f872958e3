// Several forward graphs that stay alive until one backward of the sum of their losses.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/check/graphs.h"
#include "plugins/stacked-graphs/branches.h"

namespace tapelens::check {
namespace {

constexpr Option kOptions[] = {
    {"min-percent", "10",
     "percent of the biggest graph's size that a graph must have (excludes a penalty on the weights)"},
};

class StackedGraphs final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "stacked-graphs",
            .title = "several forward graphs alive before one backward",
            .help =
                "One backward of a sum of losses whose graphs share only the parameters: micro-batches that are added "
                "up first. All graphs wait for this backward. A backward for each loss, right after its forward, adds "
                "up the same gradients and holds one graph at a time. The order of the sums differs, so the last bits "
                "may differ.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const int64_t percent = options.number("min-percent");
    const Process& p = context.process;
    const Graphs graphs(p, context.text);
    Branches branches(context, graphs);
    EarlyReleases early(context);
    bool is_listed = false;
    uint32_t first = 1;
    const auto& begins = p.evaluations.begin.raw;
    const auto at = [&](Time time) {
      return static_cast<uint32_t>(
          std::lower_bound(begins.begin() + first, begins.end(), static_cast<uint64_t>(time.ns)) - begins.begin());
    };
    for (const Interval& backward : context.phases.backwards()) {
      first = at(backward.begin);
      const uint32_t end = backward.end == kNever ? p.evaluations.rows() + 1 : at(backward.end);
      std::vector<Branch> found = branches.of(first, end);
      if (!found.empty() && !std::exchange(is_listed, true)) list_saves(p);
      if (!found.empty()) look_at(context, found, first, end, percent, early, sink);
      first = std::max(first, end);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const std::string line = line_of(context, biggest.place);
    Description d;
    // A sum of two losses is common and harmless; a loop of sums is a choice.
    d.severity = biggest.number > 2 ? Severity::warning : Severity::info;
    d.title = "graphs of " + std::to_string(biggest.number) + " losses are alive until one backward";
    d.message = "They share nothing but the parameters, and are alive together until one backward" +
                (line.empty() ? "" : " of the sum at " + line) + " goes through all of them, with " +
                bytes_text(group.bytes) + " of saved tensors.";
    d.notes.push_back("the gradients are the same sums, in another order: the last bits may differ");
    d.fix.text = "call backward on each loss (divided as the sum is) right after its forward; the gradients add up";
    return d;
  }

 private:
  // The saves that keep memory, by node.
  void list_saves(const Process& p) {
    save_begin_.assign(p.nodes.rows() + 2, 0);
    for (const uint32_t node : std::span(p.saves.node.raw).subspan(1)) ++save_begin_[node + 1];
    for (size_t i = 1; i < save_begin_.size(); ++i) save_begin_[i] += save_begin_[i - 1];
    saves_.resize(p.saves.rows());
    std::vector<uint32_t> next(save_begin_.begin(), save_begin_.end() - 1);
    for (uint32_t row = 1; row <= p.saves.rows(); ++row) saves_[next[p.saves.node.raw[row]]++] = SaveId{row};
  }

  struct Held {
    std::vector<SaveId> saves;  // sorted by allocation
    Bytes bytes;
  };
  Held held_by(const Context& context, const Branch& branch) const {
    const Process& p = context.process;
    Held held;
    for (const NodeId node : branch.nodes) {
      for (uint32_t i = save_begin_[node.value]; i < save_begin_[node.value + 1]; ++i) {
        if (keeps_memory(context, saves_[i])) held.saves.push_back(saves_[i]);
      }
    }
    std::ranges::stable_sort(held.saves, {}, [&](SaveId save) { return p.saves.allocation[save]; });
    for (size_t i = 0; i < held.saves.size(); i = end_of_allocation(p, held.saves, i)) {
      held.bytes += p.allocations.bytes[p.saves.allocation[held.saves[i]]];
    }
    return held;
  }

  void look_at(const Context& context, const std::vector<Branch>& branches, uint32_t first, uint32_t end,
               int64_t percent, EarlyReleases& early, Sink& sink) const {
    const Process& p = context.process;
    std::vector<Held> held;
    Bytes biggest;
    for (const Branch& branch : branches) {
      held.push_back(held_by(context, branch));
      biggest = std::max(biggest, held.back().bytes);
    }
    std::vector<size_t> counted;
    for (size_t i = 0; i < branches.size(); ++i) {
      if (held[i].bytes.value > 0 && held[i].bytes.value >= biggest.value / 100 * percent) counted.push_back(i);
    }
    if (counted.size() < 2) return;
    // The graphs must be made one after another. Otherwise a backward between them would need another order in the
    // program.
    for (size_t i = 1; i < counted.size(); ++i) {
      if (branches[counted[i - 1]].last >= branches[counted[i]].first) return;
    }

    const Place place = place_of(context, p.evaluations.node[EvaluationId{first}]);
    std::vector<peak::WhatIf::Extra> gradients = early_gradients(context, branches, counted, first, end);
    for (size_t i = 0; i + 1 < counted.size(); ++i) {
      const Time at = branches[counted[i + 1]].first;
      const std::vector<SaveId>& saves = held[counted[i]].saves;
      for (size_t from = 0; from < saves.size();) {
        const size_t to = end_of_allocation(p, saves, from);
        const std::span<const SaveId> all = std::span(saves).subspan(from, to - from);
        from = to;
        const AllocationId allocation = p.saves.allocation[all.front()];
        Time released{0};
        for (const SaveId save : all) released = std::max(released, p.saves.released[save]);
        peak::WhatIf change = early.change(all, at);
        change.extras.insert(change.extras.end(), gradients.begin(), gradients.end());
        gradients.clear();
        sink.add({place, allocation, p.allocations.bytes[allocation], {at, released}, all.front(), counted.size()},
                 change);
      }
    }
  }

  // With a backward for each graph, the gradients exist from the first backward on.
  static std::vector<peak::WhatIf::Extra> early_gradients(const Context& context, const std::vector<Branch>& branches,
                                                          const std::vector<size_t>& counted, uint32_t first,
                                                          uint32_t end) {
    const Process& p = context.process;
    std::map<NodeId, Interval> there;
    for (size_t i = 0; i + 1 < counted.size(); ++i) {
      for (const NodeId leaf : branches[counted[i]].leaves)
        there.try_emplace(leaf, branches[counted[i + 1]].first, kNever);
    }
    for (uint32_t at = first; at < end; ++at) {
      const EvaluationId evaluation{at};
      for (const uint32_t next : p.nodes.edges_of(p.evaluations.node[evaluation])) {
        const auto leaf = there.find(NodeId{next});
        if (leaf != there.end() && leaf->second.end == kNever) leaf->second.end = p.evaluations.begin[evaluation];
      }
    }
    std::set<AllocationId> accumulated;  // parameters with an earlier gradient
    const Time begin = p.evaluations.begin[EvaluationId{first}], over = p.evaluations.end[EvaluationId{end - 1}];
    const auto& told = p.roles.time.raw;
    auto row = static_cast<uint32_t>(std::lower_bound(told.begin() + 1, told.end(), static_cast<uint64_t>(begin.ns)) -
                                     told.begin());
    for (; row < told.size() && p.roles.time[RoleId{row}] <= over; ++row) {
      const RoleId role{row};
      if (p.roles.kind[role] == Role::gradient && p.allocations.time[p.roles.allocation[role]] < begin) {
        accumulated.insert(p.roles.parameter[role]);
      }
    }
    std::vector<peak::WhatIf::Extra> extras;
    std::set<AllocationId> seen;
    for (const auto& [leaf, when] : there) {
      const AllocationId parameter = p.nodes.parameter[leaf];
      if (when.end == kNever || accumulated.contains(parameter) || !seen.insert(parameter).second) continue;
      extras.push_back({{}, when, p.allocations.bytes[parameter]});
    }
    return extras;
  }

  std::vector<uint32_t> save_begin_;  // by node, into saves_
  std::vector<SaveId> saves_;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::StackedGraphs)
