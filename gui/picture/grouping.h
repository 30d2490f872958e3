// Which group each allocation is drawn with, for its whole life.
#pragma once

#include <string>
#include <vector>

#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"

namespace tapelens::picture {

using namespace model;

// An allocation that is alive at the peak has the group that the peak set has it in: at the peak the picture's groups
// are those of `tapelens report`. Any other has the group of what held it longest of all: its role, a save, the
// backward it was made in, its operator, the program.
struct Grouping {
  // Groups with a colour of their own; the last one is the rest. By::category has all of HolderKind and no rest.
  static constexpr uint8_t kNamed = 9;
  static constexpr uint8_t kRest = kNamed;
  static constexpr uint8_t kGroups = kNamed + 1;

  peak::By by{};
  std::vector<std::string> names;  // at most kGroups; that of the rest is "other"
  std::vector<uint8_t> of;         // by allocation
};

Grouping group(const Process& process, const Text& text, const std::vector<Step>& steps, const peak::PeakSet& peak,
               peak::By by);

}  // namespace tapelens::picture
