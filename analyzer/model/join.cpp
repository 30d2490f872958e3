// The derived columns of a process: the free of each allocation, and the release of each save.
#include <algorithm>
#include <tuple>

#include "analyzer/model/model.h"
#include "trace/record.h"

namespace tapelens::model {

namespace {

void join_frees(Process& p) {
  p.allocations.free.raw.assign(p.allocations.rows() + 1, 0);
  for (uint32_t row = 1; row <= p.frees.rows(); ++row) {
    uint32_t& first = p.allocations.free.raw[p.frees.of.raw[row]];
    if (first == 0) first = row;
  }
  p.allocations.free.raw[0] = 0;
}

void join_calls(ModuleCalls& calls) {
  calls.outermost.raw.assign(calls.rows() + 1, 0);
  for (uint32_t row = 1; row <= calls.rows(); ++row) {
    const uint32_t parent = calls.parent.raw[row];  // an earlier row
    calls.outermost.raw[row] = parent != 0 ? calls.outermost.raw[parent] : row;
  }
}

using Field = std::tuple<uint32_t, uint32_t, uint32_t>;  // node, field, index

// An applied rewrite ends the latest earlier save of its field. Returns the rewrite of each save; 0 if none.
std::vector<uint32_t> join_rewrites(Process& p) {
  Rewrites& t = p.rewrites;
  t.save.raw.assign(t.rows() + 1, 0);
  t.until.raw.assign(t.rows() + 1, static_cast<uint64_t>(kNever.ns));
  std::vector<uint32_t> rewrite_of(p.saves.rows() + 1, 0);
  std::vector<std::pair<Field, uint32_t>> ended;
  for (uint32_t row = 1; row <= t.rows(); ++row) {
    if (!t.applied(RewriteId{row}) || t.node.raw[row] == 0) continue;
    ended.push_back({{t.node.raw[row], t.field.raw[row], t.index.raw[row]}, row});
  }
  std::ranges::sort(ended);
  for (uint32_t save = 1; save <= p.saves.rows() && !ended.empty(); ++save) {
    const Field field{p.saves.node.raw[save], p.saves.field.raw[save], p.saves.index.raw[save]};
    for (auto at = std::ranges::lower_bound(ended, std::pair(field, uint32_t{0}));
         at != ended.end() && at->first == field; ++at) {
      if (t.time.raw[at->second] < p.saves.time.raw[save]) continue;
      t.save.raw[at->second] = save;
      rewrite_of[save] = at->second;
      break;
    }
  }
  return rewrite_of;
}

// Finds the next release and the death of each node, in a walk from the last event to the first. A release is either a
// separate record or the end of an evaluation that releases. Both tables are in the order of time.
//
// Evaluations nest (a reentrant backward), so their ends are not in the order of their begins. The walk notes an end
// when it passes the begin, which is early by the evaluation's duration. This is safe: evaluations of one node do not
// overlap, only the order within a node matters, and a node saves nothing during its evaluation.
class NodeEnds {
 public:
  explicit NodeEnds(const Process& process)
      : p_(process),
        release_(process.releases.rows()),
        evaluation_(process.evaluations.rows()),
        released_(process.nodes.rows() + 1, static_cast<uint64_t>(kNever.ns)),
        died_(released_) {}

  // `time` never increases from call to call.
  void back_to(uint64_t time) {
    for (; release_ > 0 && p_.releases.time.raw[release_] >= time; --release_) {
      const uint32_t node = p_.releases.of.raw[release_];
      note(node, p_.releases.time.raw[release_]);
      if ((p_.releases.flags.raw[release_] & trace::kNodeDied) != 0) died_[node] = p_.releases.time.raw[release_];
    }
    for (; evaluation_ > 0 && p_.evaluations.begin.raw[evaluation_] >= time; --evaluation_) {
      if ((p_.evaluations.flags.raw[evaluation_] & trace::kEvaluationReleases) != 0)
        note(p_.evaluations.node.raw[evaluation_], p_.evaluations.end.raw[evaluation_]);
    }
  }
  uint64_t released(uint32_t node) const { return released_[node]; }
  uint64_t died(uint32_t node) const { return died_[node]; }

 private:
  // The walk notes an earlier release of a node after a later one, so the smaller time is the nearer release.
  void note(uint32_t node, uint64_t when) { released_[node] = std::min(released_[node], when); }

  const Process& p_;
  uint32_t release_, evaluation_;
  std::vector<uint64_t> released_, died_;  // by node
};

// A save is released by the first release of its node after it.
void join_releases(Process& p) {
  const std::vector<uint32_t> rewrite_of = join_rewrites(p);
  const uint32_t saves = p.saves.rows();
  p.saves.released.raw.assign(saves + 1, static_cast<uint64_t>(kNever.ns));
  NodeEnds ends(p);
  for (uint32_t save = saves; save > 0; --save) {
    const uint64_t time = p.saves.time.raw[save];
    ends.back_to(time);
    const uint32_t node = p.saves.node.raw[save];
    if (node == 0) continue;
    const bool is_of_context = (p.saves.flags.raw[save] & trace::kSaveIsOfContext) != 0;
    if (const uint32_t rewrite = rewrite_of[save]; rewrite != 0) {
      p.rewrites.until.raw[rewrite] = ends.released(node);
      p.saves.released.raw[save] = std::min(ends.released(node), p.rewrites.time.raw[rewrite]);
      continue;
    }
    // The record of a node's death follows the destruction of its fields, so memory held only by a field is freed
    // earlier.
    const uint32_t free = (p.saves.flags.raw[save] & trace::kSaveIsPacked) == 0
                              ? p.allocations.free.raw[p.saves.allocation.raw[save]]
                              : 0;
    const uint64_t freed = free != 0 ? p.frees.time.raw[free] : static_cast<uint64_t>(kNever.ns);
    p.saves.released.raw[save] = std::min(is_of_context ? ends.died(node) : ends.released(node), std::max(freed, time));
  }
}

// A compiled function computes many lines of the program at once. The compiler knows the line that a save belongs to.
// The allocation of the save gets the stack of that line.
void join_stacks(Process& p) {
  for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
    const SaveId save{row};
    const OperatorId function = p.nodes.op[p.saves.node[save]];
    const AllocationId allocation = p.saves.allocation[save];
    if (!p.saves.stack[save] || !function || !allocation) continue;
    if (p.allocations.time[allocation] >= p.operators.begin[function])
      p.allocations.stack.raw[allocation.value] = p.saves.stack.raw[row];
  }
}

// A tensor that a hook packed is released with the node's saves; an attribute of the node lives until the node dies.
void join_held(Process& p) {
  const uint32_t rows = p.held.rows();
  p.held.until.raw.assign(rows + 1, static_cast<uint64_t>(kNever.ns));
  if (rows == 0) return;
  NodeEnds ends(p);
  for (uint32_t row = rows; row > 0; --row) {
    ends.back_to(p.held.time.raw[row]);
    const uint32_t node = p.held.node.raw[row];
    if (node == 0) continue;
    p.held.until.raw[row] = p.held.by[HeldId{row}] == trace::HeldBy::packed ? ends.released(node) : ends.died(node);
  }
}

}  // namespace

namespace {
// The row of an allocation in a column that has them in their order; 0: none.
uint32_t row_of(const std::vector<uint32_t>& allocations, AllocationId id) {
  const auto found = std::lower_bound(allocations.begin() + 1, allocations.end(), id.value);
  const bool is_it = id && found != allocations.end() && *found == id.value;
  return is_it ? static_cast<uint32_t>(found - allocations.begin()) : 0;
}
}  // namespace

DeviceBlockId DeviceBlocks::of(AllocationId id) const { return DeviceBlockId{row_of(allocation.raw, id)}; }
ImportedFactsId ImportedFacts::of(AllocationId id) const { return ImportedFactsId{row_of(allocation.raw, id)}; }

bool Rewrites::applied(RewriteId row) const { return (flags[row] & trace::kRewriteSkipped) == 0; }
int Rewrites::level(RewriteId row) const { return flags[row] & trace::kRewriteLevel; }

void join(Process& process) {
  join_frees(process);
  join_calls(process.module_calls);
  join_releases(process);
  join_held(process);
  join_stacks(process);
}

}  // namespace tapelens::model
