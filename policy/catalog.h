// The list of rewrites. Each is declared in the rule.h of its folder in plugins/; plugins/CMakeLists.txt collects them.
#pragma once

#include <span>
#include <string_view>

#include "policy/level.h"

namespace tapelens::policy {

inline constexpr std::string_view kSave = "save";  // the unit of rewrites that hold saved tensors in less memory

struct RewriteInfo {
  std::string_view id;  // "wide-save": the id of the check that finds what it fixes, if there is a check
  Level level;
  std::string_view title;         // "masks as bits", at most 60 characters
  bool reorders_sums = false;     // whether bits may differ because the same numbers are added in another order
  std::string_view unit = kSave;  // what it changes, to count them
};
// The rewrite that keeps saves in the host's memory, which `run --fit` may choose.
inline constexpr std::string_view kOffload = "offload";

// Tapelens's own rewrites by id; a shared library may add others.
std::span<const RewriteInfo> catalog();
bool reorders_sums(std::string_view id);        // false for ids outside of the catalog
std::string_view unit_of(std::string_view id);  // "save" for ids outside of the catalog

}  // namespace tapelens::policy
