// The derived columns of a process: which free ends an allocation, and when a save was released.
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

using Field = std::tuple<uint32_t, uint32_t, uint32_t>;  // node, field, index

// An applied rewrite ends the save of its field that was made last before it. Answers the rewrite of each save, 0:
// none.
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

// A save is released by the first release of its node after it: a release record, or the end of an evaluation that
// releases. All three tables are in the order of time, so one walk from the end to the beginning, which remembers each
// node's next release, is enough.
void join_releases(Process& p) {
  const std::vector<uint32_t> rewrite_of = join_rewrites(p);
  const uint32_t saves = p.saves.rows();
  p.saves.released.raw.assign(saves + 1, static_cast<uint64_t>(kNever.ns));
  std::vector<uint64_t> next(p.nodes.rows() + 1, static_cast<uint64_t>(kNever.ns));

  // Evaluations nest (a reentrant backward), so their ends are not in the order of their begins. A node's evaluations
  // do not overlap one another, and only the order within a node matters: take an end when its begin is passed, which
  // is early by its duration. A save of a node is never made while the node is being evaluated.
  uint32_t release = p.releases.rows(), evaluation = p.evaluations.rows();
  for (uint32_t save = saves; save > 0; --save) {
    const uint64_t time = p.saves.time.raw[save];
    const auto note = [&next](uint32_t node, uint64_t when) {
      if (when < next[node]) next[node] = when;
    };
    // An earlier release of the same node is always noted later in this walk, so the smaller one is the nearer one.
    while (release > 0 && p.releases.time.raw[release] >= time) {
      note(p.releases.of.raw[release], p.releases.time.raw[release]);
      --release;
    }
    while (evaluation > 0 && p.evaluations.begin.raw[evaluation] >= time) {
      if ((p.evaluations.flags.raw[evaluation] & trace::kEvaluationReleases) != 0) {
        note(p.evaluations.node.raw[evaluation], p.evaluations.end.raw[evaluation]);
      }
      --evaluation;
    }
    const uint32_t node = p.saves.node.raw[save];
    if (node == 0) continue;
    if (const uint32_t rewrite = rewrite_of[save]; rewrite != 0) {
      p.rewrites.until.raw[rewrite] = next[node];
      p.saves.released.raw[save] = std::min(next[node], p.rewrites.time.raw[rewrite]);
      continue;
    }
    // A node is told dead when its fields have been destroyed: what only a field kept was freed a little before.
    const uint32_t free = (p.saves.flags.raw[save] & trace::kSaveIsPacked) == 0
                              ? p.allocations.free.raw[p.saves.allocation.raw[save]]
                              : 0;
    const uint64_t freed = free != 0 ? p.frees.time.raw[free] : static_cast<uint64_t>(kNever.ns);
    p.saves.released.raw[save] = std::min(next[node], std::max(freed, time));
  }
}

}  // namespace

DeviceBlockId DeviceBlocks::of(AllocationId id) const {
  const auto found = std::lower_bound(allocation.raw.begin() + 1, allocation.raw.end(), id.value);
  const bool is_it = id && found != allocation.raw.end() && *found == id.value;
  return is_it ? DeviceBlockId{static_cast<uint32_t>(found - allocation.raw.begin())} : DeviceBlockId{};
}

bool Rewrites::applied(RewriteId row) const { return (flags[row] & trace::kRewriteSkipped) == 0; }
int Rewrites::level(RewriteId row) const { return flags[row] & trace::kRewriteLevel; }

void join(Process& process) {
  join_frees(process);
  join_releases(process);
}

}  // namespace tapelens::model
