// Which findings to fix together. More is not always lower: what one has there instead (a mask, a tensor that is
// computed again, a buffer) may stand where another has taken the rest of the peak away.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/peak/replay.h"

namespace tapelens::advise {

using namespace model;

// Changes of which those that drop the same saves share them in their order here.
class Together {
 public:
  Together(const Process& process, const peak::Replay& replay, std::vector<const peak::WhatIf*> changes);

  struct Set {
    std::vector<bool> has;             // by change
    std::vector<peak::WhatIf> shares;  // of those that it has
    peak::Replay::Outcome outcome;

    std::vector<const peak::WhatIf*> changes() const;
  };
  Set of(const std::vector<bool>& has) const;
  Set all() const { return of(std::vector<bool>(changes_.size(), true)); }

  // The set of the lowest peak, with all others that do not make it higher. `alone`: the peak with each change alone.
  // Sets that cannot be lower than what is known are left out, so that nearly always every set is accounted for; of a
  // recording where that would take more replays than kMostReplays, it is the lowest set that was met: never higher
  // than that of all, of none, or of any change alone.
  Set lowest(std::span<const Bytes> alone, Set all) const;
  static constexpr uint32_t kMostReplays = 1000;

 private:
  class Search;

  const Process& process_;
  const peak::Replay& replay_;
  std::vector<const peak::WhatIf*> changes_;
};

}  // namespace tapelens::advise
