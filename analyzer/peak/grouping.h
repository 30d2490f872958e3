// Which group each allocation is drawn with, for its whole life.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"

namespace tapelens::peak {

// One rule for the whole life of every allocation, so that the same step looks the same wherever the peak is: its role,
// else what else is kept for the backward, else the first save, else communication, else its operator if it was gone
// when that ended, the backward it was made in, the program. So an operator's inputs are not the operator's, and the
// sums at the peak may differ from those of `tapelens report`, which says who held an allocation at that moment.
struct Grouping {
  // Groups with their own colour; the last group is the rest. By::category has every HolderKind and no rest.
  static constexpr uint8_t kNamed = 9;
  static constexpr uint8_t kRest = kNamed;
  static constexpr uint8_t kGroups = std::max<size_t>(kNamed + 1, kHolderKinds);

  By by{};
  std::vector<std::string> names;  // at most kGroups; that of the rest is "other"
  std::vector<uint8_t> of;         // by allocation
  std::vector<uint8_t> stacked;    // the groups of which there are allocations, from the bottom of the stack up
};

// The groups with the most bytes in `peak` get names.
Grouping group(const Process& process, const Text& text, const std::vector<Step>& steps, const PeakSet& peak, By by);

}  // namespace tapelens::peak
