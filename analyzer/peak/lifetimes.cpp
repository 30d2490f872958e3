// When the program itself released each allocation: see replay.h.
#include <algorithm>

#include "analyzer/model/steps.h"
#include "analyzer/peak/replay.h"

namespace tapelens::peak {

namespace {

// The program's last action before each free: an operator or an evaluation that began, or a backward that ended. The
// release of a save frees memory before anything else happens. Between the evaluation of a node and the release of its
// saves the engine itself calls operators, such as sums of broadcast gradients. Those are not the program's.
class Activity {
 public:
  explicit Activity(const Process& process)
      : p_(process), backwards_(merged_ends(process)), in_backward_(merged(process.backwards)) {}

  // Call it with times that do not decrease.
  int64_t last_before(int64_t time) {
    advance(p_.operators.begin.raw, operator_, time, [&](uint32_t row, int64_t at) { return !is_engine(row, at); });
    advance(p_.evaluations.begin.raw, evaluation_, time, [](uint32_t, int64_t) { return true; });
    while (backward_ < backwards_.size() && backwards_[backward_] <= time)
      last_ = std::max(last_, backwards_[backward_++]);
    return last_;
  }

 private:
  static std::vector<int64_t> merged_ends(const Process& process) {
    std::vector<int64_t> ends;
    for (const Interval& backward : process.backwards) ends.push_back(backward.end.ns);
    std::ranges::sort(ends);
    return ends;
  }
  template <class Counts>
  void advance(const std::vector<uint64_t>& times, uint32_t& row, int64_t time, Counts counts) {
    for (; row < times.size() && static_cast<int64_t>(times[row]) <= time; ++row) {
      const auto at = static_cast<int64_t>(times[row]);
      if (counts(row, at)) last_ = std::max(last_, at);
    }
  }
  // Whether the operator runs in a backward, outside all evaluations of nodes.
  bool is_engine(uint32_t op, int64_t at) {
    while (interval_ < in_backward_.size() && in_backward_[interval_].end.ns <= at) ++interval_;
    return interval_ < in_backward_.size() && in_backward_[interval_].begin.ns <= at &&
           p_.operators.evaluation.raw[op] == 0;
  }

  const Process& p_;
  std::vector<int64_t> backwards_;
  std::vector<Interval> in_backward_;
  uint32_t operator_ = 1, evaluation_ = 1;
  size_t backward_ = 0, interval_ = 0;
  int64_t last_ = 0;
};

// Parameters, buffers, optimizer state and gradients stay alive even if a node also saves them.
std::vector<uint8_t> held_by_role(const Process& p) {
  std::vector<uint8_t> held(p.allocations.rows() + 1, 0);
  for (const uint32_t allocation : p.roles.allocation.raw) held[allocation] = 1;
  for (const uint32_t allocation : p.nodes.parameter.raw) held[allocation] = 1;
  return held;
}

class Finder {
 public:
  Finder(const Process& process, const Provenance& provenance) : p_(process), provenance_(provenance) {}

  // Ends of operators and of the module calls that handed the allocation on to them.
  Time use_end(OperatorId op, Time birth) const {
    const OperatorId called = provenance_.called(op);
    Time end = p_.operators.end[called];
    if (p_.operators.evaluation[op]) return end;
    // The frame that called a module holds the arguments until the module returns.
    for (ModuleCallId call = p_.operators.module_call[op]; call; call = p_.module_calls.parent[call]) {
      if (p_.module_calls.begin[call] <= birth) break;
      end = std::max(end, p_.module_calls.end[call]);
    }
    return end;
  }

  // The return of the innermost call that made the allocation and lasts until `used`.
  Time variable_end(AllocationId id, Time used, const Text& text) const {
    ModuleCallId call = p_.allocations.module_call[id];
    while (call && p_.module_calls.end[call] < used) call = p_.module_calls.parent[call];
    if (call) {
      const std::string_view type = text.string(text.module_type[p_.module_calls.module[call]]);
      return type.ends_with("Sequential") ? used : p_.module_calls.end[call];
    }
    const auto next = std::ranges::lower_bound(p_.backwards, used, {}, &Interval::begin);
    return next != p_.backwards.end() ? next->begin : used;
  }

  // A node that reads its own save is not a use by the program. `savers`: the nodes that saved it, sorted.
  bool is_of_a_saver(OperatorId op, const std::vector<NodeId>& savers) const {
    const NodeId node = p_.evaluations.node[p_.operators.evaluation[op]];
    return node && std::ranges::binary_search(savers, node);
  }

 private:
  const Process& p_;
  const Provenance& provenance_;
};

}  // namespace

Lifetimes::Lifetimes(const Process& p, const Provenance& provenance) : Lifetimes(p, provenance, nullptr) {}

Lifetimes::Lifetimes(const Process& p, const Provenance& provenance, const Text& held_by_variables)
    : Lifetimes(p, provenance, &held_by_variables) {}

Lifetimes::Lifetimes(const Process& p, const Provenance& provenance, const Text* held_by_variables)
    : process_(p), provenance_(provenance) {
  const uint32_t rows = p.allocations.rows();
  program_end_.resize(size_t{rows} + 1);
  last_use_.resize(size_t{rows} + 1);
  last_release_.resize(size_t{rows} + 1);
  ends_with_save_.resize(size_t{rows} + 1);
  const std::vector<uint8_t> held = held_by_role(p);

  // The time of the last release of a save at or before the end; -1 without one.
  const auto last_release = [&](AllocationId allocation, Time end) {
    int64_t last = -1;
    for (const SaveId save : provenance.saves(allocation)) {
      if (p.saves.released[save] <= end) last = std::max(last, p.saves.released[save].ns);
    }
    return last;
  };
  // In a run with rewrites, the sources of a recomputed storage are freed together with it.
  std::vector<int64_t> rewritten;
  for (uint32_t row = 1; row <= p.rewrites.rows(); ++row) {
    if (p.rewrites.save[RewriteId{row}]) rewritten.push_back(p.rewrites.until[RewriteId{row}].ns);
  }
  std::ranges::sort(rewritten);
  Activity activity(p);
  for (uint32_t row = 1; row <= p.frees.rows(); ++row) {
    const AllocationId allocation = p.frees.of[FreeId{row}];
    if (p.allocations.free[allocation] != FreeId{row} || held[allocation.value] != 0) continue;
    const Time end = p.frees.time[FreeId{row}];
    const int64_t before = activity.last_before(end.ns);
    int64_t released = last_release(allocation, end);
    const auto later = std::ranges::upper_bound(rewritten, end.ns);
    if (released >= 0 && later != rewritten.begin()) released = std::max(released, *std::prev(later));
    ends_with_save_[allocation.value] = released >= 0 && before <= released;
  }

  const Finder finder(p, provenance);
  std::vector<NodeId> savers;
  for (uint32_t row = 1; row <= rows; ++row) {
    const AllocationId id{row};
    const Time birth = p.allocations.time[id], freed = p.freed(id);
    savers.clear();
    for (const SaveId save : provenance.saves(id)) savers.push_back(p.saves.node[save]);
    std::ranges::sort(savers);
    last_release_[row] = std::max(birth.ns, last_release(id, freed));
    if (freed == kNever && held[row] == 0) ends_with_save_[row] = last_release(id, kNever) == kNever.ns;
    const OperatorId maker = provenance.maker(id);
    Time last = birth, end = maker ? std::max(birth, p.operators.end[maker]) : birth;
    for (const OperatorId op : provenance.uses(id)) {
      if (finder.is_of_a_saver(op, savers)) continue;
      last = std::max(last, p.operators.end[op]);
      if (ends_with_save_[row] != 0) end = std::max(end, finder.use_end(op, birth));
    }
    if (held_by_variables != nullptr && ends_with_save_[row] != 0 && !p.allocations.evaluation[id]) {
      end = std::max(end, finder.variable_end(id, end, *held_by_variables));
    }
    last_use_[row] = std::min(last, freed).ns;
    program_end_[row] = ends_with_save_[row] != 0 ? std::min(end, freed).ns : freed.ns;
  }
}

}  // namespace tapelens::peak
