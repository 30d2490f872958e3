#include "rewrites/catalog.h"

#include <algorithm>

namespace tapelens::rewrites {

namespace {
constexpr std::array kNames = {std::string_view("never read"), std::string_view("encoded"),
                               std::string_view("recomputed"), std::string_view("equivalent"),
                               std::string_view("shared forward")};
constexpr std::array kCatalog = {
    Entry{"unneeded-save", Level::never_read},       Entry{"wide-save", Level::encoded},
    Entry{"recomputable-save", Level::recomputed},   Entry{"duplicate-save", Level::recomputed},
    Entry{"expanded-save", Level::equivalent, true}, Entry{"trivial-concat", Level::shared_forward},
    Entry{"late-gradient", Level::equivalent},       Entry{"scan-save", Level::shared_forward},
};
}  // namespace

std::string_view level_name(int level) {
  return level >= 0 && level < static_cast<int>(kNames.size()) ? kNames[static_cast<size_t>(level)] : "unknown";
}

int highest_level(std::string_view group) {
  const auto at = std::ranges::find(kGroups, group, &Group::name);
  return at == kGroups.end() ? kNone : static_cast<int>(at->highest);
}

std::span<const Entry> catalog() { return kCatalog; }

bool reorders_sums(std::string_view id) {
  const auto at = std::ranges::find(kCatalog, id, &Entry::id);
  return at != kCatalog.end() && at->reorders_sums;
}

}  // namespace tapelens::rewrites
