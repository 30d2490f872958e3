#include "policy/level.h"

#include <algorithm>

namespace tapelens::policy {

namespace {
constexpr std::array kNames = {std::string_view("never read"),     std::string_view("encoded"),
                               std::string_view("recomputed"),     std::string_view("equivalent"),
                               std::string_view("shared forward"), std::string_view("offloaded")};
}  // namespace

std::string_view level_name(int level) {
  return level >= 0 && level < static_cast<int>(kNames.size()) ? kNames[static_cast<size_t>(level)] : "unknown";
}

int highest_level(std::string_view group) {
  const auto at = std::ranges::find(kPresets, group, &Preset::name);
  return at == kPresets.end() ? kNone : static_cast<int>(at->highest);
}

}  // namespace tapelens::policy
