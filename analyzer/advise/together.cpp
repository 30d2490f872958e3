#include "analyzer/advise/together.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "analyzer/advise/groups.h"

namespace tapelens::advise {

using namespace check;

namespace {

using peak::Replay;
using peak::WhatIf;

bool costs(const WhatIf& change) { return !change.extras.empty() || !change.keeps.empty() || !change.aliases.empty(); }

// A change without the memory that it adds. The peak with this part is at most the peak with the whole change.
WhatIf gain_of(const Process& process, const WhatIf& change) {
  WhatIf gain;
  gain.without = change.without;
  gain.ends = change.ends;
  for (const WhatIf::Alias& alias : change.aliases) {
    gain.never_make(process, alias.copy);
  }
  return gain;
}

std::vector<WhatIf> shares_of(const Process& process, const std::vector<const WhatIf*>& changes) {
  std::vector<uint8_t> claimed(size_t{process.saves.rows()} + 1);
  std::vector<WhatIf> shares;
  shares.reserve(changes.size());
  for (const WhatIf* change : changes) shares.push_back(without_claimed(process, *change, claimed));
  return shares;
}

std::vector<const WhatIf*> pointers(const std::vector<WhatIf>& changes) {
  std::vector<const WhatIf*> all;
  for (const WhatIf& change : changes) all.push_back(&change);
  return all;
}

}  // namespace

Together::Together(const Process& process, const Replay& replay, std::vector<const WhatIf*> changes)
    : process_(process), replay_(replay), changes_(std::move(changes)) {}

std::vector<const WhatIf*> Together::Set::changes() const { return pointers(shares); }

Together::Set Together::of(const std::vector<bool>& has) const {
  std::vector<const WhatIf*> chosen;
  for (size_t i = 0; i < changes_.size(); ++i) {
    if (has[i]) chosen.push_back(changes_[i]);
  }
  Set set{has, shares_of(process_, chosen), {}};
  set.outcome = replay_.without(set.changes());
  return set;
}

// Branch and bound. In a branch of the search, each change is in, out or open. The bound of a branch is the peak with
// the gains of the open changes and without their costs. No set of the branch has a lower peak.
class Together::Search {
 public:
  Search(const Together& of, Set all) : of_(of), best_(std::move(all)) {
    for (const WhatIf* change : of_.changes_) gains_.push_back(gain_of(of_.process_, *change));
  }

  Set run(std::span<const Bytes> alone) {
    const size_t count = of_.changes_.size();
    Branch root{std::vector<State>(count, State::open), {}, best_.outcome.when.time};
    root.bound = bound_of(root.states);
    if (root.bound < best_.outcome.peak) try_one_after_another(alone);
    std::priority_queue<Branch, std::vector<Branch>, Later> branches;
    branches.push(std::move(root));
    while (!branches.empty() && replays_ < kMostReplays) {
      const Branch branch = branches.top();
      branches.pop();
      if (branch.bound >= best_.outcome.peak) break;  // no other bound is lower
      const std::optional<size_t> at = most_costly(branch);
      if (!at) continue;
      for (const State state : {State::out, State::in}) {
        Branch next = branch;
        next.states[*at] = state;
        // With the change in, the set of all changes that are not out equals the set tried before.
        if (state == State::out) next.when = consider(next.states);
        next.bound = std::max(branch.bound, bound_of(next.states));
        if (next.bound < best_.outcome.peak) branches.push(std::move(next));
      }
    }
    add_what_does_no_harm();
    return std::move(best_);
  }

 private:
  enum class State : uint8_t { open, in, out };
  struct Branch {
    std::vector<State> states;  // by change
    Bytes bound;
    Time when;  // the time of the peak with all changes that are open or in
  };
  struct Later {
    bool operator()(const Branch& a, const Branch& b) const { return a.bound > b.bound; }
  };

  void consider(Set set) {
    if (set.outcome.peak < best_.outcome.peak) best_ = std::move(set);
  }
  Set replayed(const std::vector<bool>& has) {
    ++replays_;
    return of_.of(has);
  }
  Time consider(const std::vector<State>& states) {
    std::vector<bool> has(states.size());
    for (size_t i = 0; i < states.size(); ++i) has[i] = states[i] != State::out;
    Set set = replayed(has);
    const Time when = set.outcome.when.time;
    consider(std::move(set));
    return when;
  }

  // Adds changes in the order of their effect alone. Omits changes that do not lower the peak further.
  void try_one_after_another(std::span<const Bytes> alone) {
    std::vector<size_t> order(alone.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t at) { return alone[at]; });
    Set set = replayed(std::vector<bool>(alone.size()));
    for (const size_t at : order) {
      std::vector<bool> has = set.has;
      has[at] = true;
      Set with = replayed(has);
      if (with.outcome.peak < set.outcome.peak) set = std::move(with);
    }
    consider(std::move(set));
  }

  Bytes bound_of(const std::vector<State>& states) {
    std::vector<const WhatIf*> in, changes;
    std::vector<bool> is_in;
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i] == State::in) in.push_back(of_.changes_[i]);
      if (states[i] == State::out) continue;
      is_in.push_back(states[i] == State::in);
      changes.push_back(is_in.back() ? of_.changes_[i] : &gains_[i]);
    }
    std::vector<WhatIf> shares = shares_of(of_.process_, changes);
    // Extra memory is certain only if the changes in `in` alone remove the allocation that it replaces.
    ++replays_;
    const Replay::Outcome certain = of_.replay_.without(pointers(shares_of(of_.process_, in)));
    for (size_t i = 0; i < shares.size(); ++i) {
      if (!is_in[i]) continue;
      std::erase_if(shares[i].extras, [&](const WhatIf::Extra& extra) {
        return extra.instead_of && certain.end(of_.process_, extra.instead_of) >= of_.process_.freed(extra.instead_of);
      });
    }
    ++replays_;
    return of_.replay_.without(pointers(shares)).peak;
  }

  // The open change with the most extra memory at the peak of the branch; else one with extra memory at any time; else
  // any.
  std::optional<size_t> most_costly(const Branch& branch) const {
    std::optional<size_t> found;
    std::pair<Bytes, bool> most{};
    for (size_t i = 0; i < branch.states.size(); ++i) {
      if (branch.states[i] != State::open) continue;
      const WhatIf& change = *of_.changes_[i];
      std::pair<Bytes, bool> cost{{}, costs(change)};
      for (const WhatIf::Extra& extra : change.extras) {
        if (extra.when.begin <= branch.when && branch.when < extra.when.end) cost.first += extra.bytes;
      }
      for (const WhatIf::Keep& keep : change.keeps) {
        if (branch.when < keep.until) cost.first += of_.process_.allocations.bytes[keep.source];
      }
      if (!found || cost > most) {
        found = i;
        most = cost;
      }
    }
    return found;
  }

  void add_what_does_no_harm() {
    for (size_t i = 0; i < best_.has.size(); ++i) {
      if (best_.has[i]) continue;
      std::vector<bool> has = best_.has;
      has[i] = true;
      if (Set with = replayed(has); with.outcome.peak <= best_.outcome.peak) best_ = std::move(with);
    }
  }

  const Together& of_;
  std::vector<WhatIf> gains_;  // by change
  Set best_;
  uint32_t replays_ = 0;
};

Together::Set Together::lowest(std::span<const Bytes> alone, Set all) const {
  if (changes_.size() < 2) {
    const std::vector<bool> none(changes_.size(), false);
    Set without = of(none);
    return without.outcome.peak < all.outcome.peak ? std::move(without) : std::move(all);
  }
  return Search(*this, std::move(all)).run(alone);
}

}  // namespace tapelens::advise
