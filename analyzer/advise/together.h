// Chooses the findings to fix together. More findings do not always give a lower peak: the extra memory of one (a mask,
// a recomputed tensor, a buffer) may fall where another has removed the rest of the peak.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/peak/replay.h"

namespace tapelens::advise {

using namespace model;

// A set of changes. Changes that drop the same saves share them, in their order here.
class Together {
 public:
  Together(const Process& process, const peak::Replay& replay, std::vector<const peak::WhatIf*> changes);

  struct Set {
    std::vector<bool> has;             // by change
    std::vector<peak::WhatIf> shares;  // one for each change in the set
    peak::Replay::Outcome outcome;

    std::vector<const peak::WhatIf*> changes() const;
  };
  Set of(const std::vector<bool>& has) const;
  Set all() const { return of(std::vector<bool>(changes_.size(), true)); }

  // The set with the lowest peak, plus all other changes that do not raise it. `alone`: the peak with each change
  // alone. The search skips sets whose bound is not below the best peak, so it nearly always covers every set. It stops
  // after kMostReplays replays with the best set so far. That peak is never higher than with all changes, with none, or
  // with any single change.
  Set lowest(std::span<const Bytes> alone, Set all) const;
  static constexpr uint32_t kMostReplays = 1000;

 private:
  class Search;

  const Process& process_;
  const peak::Replay& replay_;
  std::vector<const peak::WhatIf*> changes_;
};

}  // namespace tapelens::advise
