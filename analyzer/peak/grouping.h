// The group whose color each allocation has for its whole life.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"

namespace tapelens::peak {

// One rule covers the whole life of every allocation, so that the same step always looks the same. The group is the
// role, else another use for the backward, else the first save, else communication. Otherwise it is the allocation's
// operator if the allocation was freed within it, the backward that made it, or the program. So an operator does not
// get its inputs. The sums at the peak may differ from those of `tapelens report`, which has the holders at that
// moment.
struct Grouping {
  // Groups with their own colour; the last group is the rest. By::category has every HolderKind and no rest.
  static constexpr uint8_t kNamed = 9;
  static constexpr uint8_t kRest = kNamed;
  static constexpr uint8_t kGroups = std::max<size_t>(kNamed + 1, kHolderKinds);

  By by{};
  std::vector<std::string> names;  // at most kGroups; the name of the rest is "other"
  std::vector<uint8_t> of;         // by allocation
  std::vector<uint8_t> stacked;    // groups with allocations, from the bottom of the stack up
};

// The groups with the most bytes in `peak` get names.
Grouping group(const Process& process, const Text& text, const std::vector<Step>& steps, const PeakSet& peak, By by);

}  // namespace tapelens::peak
