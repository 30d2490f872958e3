#include "analyzer/peak/replay.h"

#include <algorithm>
#include <utility>

namespace tapelens::peak {

namespace {

// The lifetimes of the allocations that the changes affect.
class Lives {
 public:
  Lives(const Lifetimes& lifetimes, std::span<const WhatIf* const> changes)
      : lifetimes_(lifetimes), p_(lifetimes.process()) {
    for (const WhatIf* change : changes) {
      gone_.insert(gone_.end(), change->without.begin(), change->without.end());
      caps_.insert(caps_.end(), change->ends.begin(), change->ends.end());
      aliases_.insert(aliases_.end(), change->aliases.begin(), change->aliases.end());
      keeps_.insert(keeps_.end(), change->keeps.begin(), change->keeps.end());
    }
    keep_earliest_caps();
    is_gone_.resize(size_t{p_.saves.rows()} + 1);
    for (const SaveId save : gone_) is_gone_[save.value] = true;
    resolve();
  }

  // By allocation id.
  const std::vector<Replay::Outcome::Changed>& changed() const { return changed_; }

 private:
  void keep_earliest_caps() {
    const auto key = [](const WhatIf::End& end) { return std::pair(end.allocation, end.at); };
    if (!std::ranges::is_sorted(caps_, {}, key)) std::ranges::sort(caps_, {}, key);
    const auto again = std::ranges::unique(caps_, {}, &WhatIf::End::allocation);
    caps_.erase(again.begin(), again.end());
  }

  void resolve() {
    std::vector<AllocationId> touched;
    for (const WhatIf::Keep& keep : keeps_) touched.push_back(keep.source);
    touched.reserve(gone_.size() + caps_.size() + 2 * aliases_.size());
    for (const SaveId save : gone_) touched.push_back(p_.saves.allocation[save]);
    for (const WhatIf::End& cap : caps_) touched.push_back(cap.allocation);
    for (const WhatIf::Alias& alias : aliases_) {
      touched.push_back(alias.copy);
      touched.push_back(alias.source);
    }
    if (!std::ranges::is_sorted(touched)) std::ranges::sort(touched);
    touched.erase(std::ranges::unique(touched).begin(), touched.end());
    changed_.reserve(touched.size());
    for (const AllocationId allocation : touched) {
      if (allocation) changed_.push_back({allocation, end_of(allocation)});
    }
    for (const WhatIf::Keep& keep : keeps_) {
      if (!keep.source) continue;
      Time& end = life(keep.source).end;
      end = std::max(end, std::min(keep.until, p_.freed(keep.source)));
    }
    apply_aliases();
    std::erase_if(changed_, [&](const auto& life) { return life.end == p_.freed(life.allocation); });
  }

  bool is_gone(SaveId save) const { return is_gone_[save.value]; }

  Time end_of(AllocationId allocation) const {
    const Time freed = p_.freed(allocation);
    Time program = lifetimes_.program_end(allocation);
    const auto cap = std::ranges::lower_bound(caps_, allocation, {}, &WhatIf::End::allocation);
    if (cap != caps_.end() && cap->allocation == allocation) {
      if (cap->at < p_.allocations.time[allocation]) return p_.allocations.time[allocation];
      program = std::min(program, cap->at);
    }
    if (program >= freed) return freed;
    // The free comes shortly after the last release of a save. If that save stays, the recorded end stays.
    Time kept{0}, last{0};
    for (const SaveId save : lifetimes_.provenance().saves(allocation)) {
      const Time released = p_.saves.released[save];
      if (released > freed) continue;
      last = std::max(last, released);
      if (!is_gone(save)) kept = std::max(kept, released);
    }
    if (kept == last && last.ns > 0 && lifetimes_.ends_with_save(allocation)) return freed;
    return std::min(freed, std::max(program, kept));
  }

  // The holders of a copy hold its source instead. A copy of a copy must reach the first source, so the latest copies
  // go first.
  void apply_aliases() {
    std::ranges::stable_sort(aliases_, std::ranges::greater(), &WhatIf::Alias::copy);
    AllocationId done;
    for (const WhatIf::Alias& alias : aliases_) {
      if (alias.copy == done) continue;
      done = alias.copy;
      Time& copy = life(alias.copy).end;
      Time& source = life(alias.source).end;
      source = std::max(source, copy);
      copy = p_.allocations.time[alias.copy];
    }
  }

  Replay::Outcome::Changed& life(AllocationId allocation) {
    return *std::ranges::lower_bound(changed_, allocation, {}, &Replay::Outcome::Changed::allocation);
  }

  const Lifetimes& lifetimes_;
  const Process& p_;
  std::vector<SaveId> gone_;
  std::vector<bool> is_gone_;      // by save
  std::vector<WhatIf::End> caps_;  // by allocation
  std::vector<WhatIf::Alias> aliases_;
  std::vector<WhatIf::Keep> keeps_;
  std::vector<Replay::Outcome::Changed> changed_;
};

// The changes of the curve, in the order of events.
class Steps {
 public:
  // `changes`: the expected number.
  Steps(const Timeline& timeline, size_t changes) : timeline_(timeline) { steps_.reserve(2 * changes); }

  // Lowers the curve in [from, to) by `bytes`.
  void lower(uint32_t from, uint32_t to, int64_t bytes) {
    if (from >= to || bytes == 0) return;
    steps_.push_back({from, bytes});
    if (to < timeline_.events()) steps_.push_back({to, -bytes});
  }

  // Running sums, one for each event with a step.
  std::vector<Replay::Outcome::Lower> sums() {
    std::ranges::sort(steps_, {}, &Replay::Outcome::Lower::event);
    std::vector<Replay::Outcome::Lower> out;
    out.reserve(steps_.size());
    int64_t sum = 0;
    for (const auto& step : steps_) {
      sum += step.bytes;
      if (!out.empty() && out.back().event == step.event) {
        out.back().bytes = sum;
      } else {
        out.push_back({step.event, sum});
      }
    }
    return out;
  }

 private:
  const Timeline& timeline_;
  std::vector<Replay::Outcome::Lower> steps_;
};

// The largest value of the lowered curve after any event from `first` on. Skips through whole blocks without a change,
// and checks the events of other blocks.
void find_peak(const Timeline& timeline, uint32_t first, Replay::Outcome& outcome) {
  const auto& lower = outcome.lower;
  int64_t best = 0, by = 0;
  uint32_t best_event = UINT32_MAX, best_block = UINT32_MAX;
  size_t next = 0;
  const uint32_t events = timeline.events();
  for (uint32_t begin = 0; begin < events; begin += Timeline::kBlock) {
    const uint32_t end = std::min(events, begin + Timeline::kBlock), block = begin / Timeline::kBlock;
    if (begin >= first && (next == lower.size() || lower[next].event >= end)) {
      const int64_t most = timeline.most_of_block(block).value - by;
      if (most > best) {
        best = most;
        best_block = block;
        best_event = UINT32_MAX;
      }
      continue;
    }
    for (uint32_t event = begin; event < end; ++event) {
      while (next < lower.size() && lower[next].event == event) {
        by = lower[next++].bytes;
        outcome.most_retained = std::max(outcome.most_retained, Bytes{by});
      }
      if (const int64_t live = timeline.live_after(event).value - by; event >= first && live > best) {
        best = live;
        best_event = event;
      }
    }
  }
  outcome.peak = Bytes{best};
  if (best_event == UINT32_MAX && best_block != UINT32_MAX) {
    best_event = best_block * Timeline::kBlock;
    while (timeline.live_after(best_event) != timeline.most_of_block(best_block)) ++best_event;
  }
  if (best_event != UINT32_MAX) outcome.when = timeline.moment_after(best_event);
}

}  // namespace

Time Replay::Outcome::end(const Process& process, AllocationId allocation) const {
  const auto at = std::ranges::lower_bound(changed, allocation, {}, &Changed::allocation);
  return at != changed.end() && at->allocation == allocation ? at->end : process.freed(allocation);
}

Replay::Outcome Replay::without(std::span<const WhatIf* const> changes) const {
  const Process& p = lifetimes_.process();
  Outcome outcome;
  outcome.changed = Lives(lifetimes_, changes).changed();
  Steps steps(timeline_, outcome.changed.size());
  const uint32_t all = timeline_.events();
  uint32_t before = 0;  // allocations are in the order of time
  for (const auto& [allocation, end] : outcome.changed) {
    const uint32_t born = timeline_.event_of(allocation, before);
    if (born == all) continue;  // of another device, or of none
    before = born;
    const FreeId free = p.allocations.free[allocation];
    const uint32_t recorded = free ? timeline_.event_of(free, born) : all;
    const int64_t bytes = p.allocations.bytes[allocation].value;
    if (end <= p.allocations.time[allocation]) {
      steps.lower(born, recorded, bytes);
    } else {
      const uint32_t now = std::max(born + 1, end == kNever ? all : timeline_.first_at_or_after(end, born));
      if (now < recorded) steps.lower(now, recorded, bytes);
      if (now > recorded) steps.lower(recorded, now, -bytes);
    }
  }
  for (const WhatIf* change : changes) {
    for (const WhatIf::Extra& extra : change->extras) {
      if (extra.instead_of && outcome.end(p, extra.instead_of) >= p.freed(extra.instead_of)) continue;
      // The extra adds to the bytes that were live at its begin, which the event before it shows.
      const uint32_t from = timeline_.first_at_or_after(extra.when.begin);
      const uint32_t to = extra.when.end == kNever ? all : timeline_.first_at_or_after(extra.when.end);
      steps.lower(from == 0 ? 0 : from - 1, to, -extra.bytes.value);
    }
  }
  outcome.lower = steps.sums();
  const uint32_t first = timeline_.first_at_or_after(since_);
  find_peak(timeline_, first == 0 ? 0 : first - 1, outcome);
  return outcome;
}

}  // namespace tapelens::peak
