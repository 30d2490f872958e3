// Which rewrites there are. Each is declared in the rule.h of its folder in plugins/; the list of those is made by
// plugins/CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

#include "rewrites/level.h"

namespace tapelens::rewrites {

struct RewriteInfo {
  std::string_view id;  // "wide-save": that of the check that finds what it fixes, where there is one
  Level level;
  std::string_view title;      // "masks as bits", at most 60 characters
  bool reorders_sums = false;  // whether bits may differ because the same numbers are added in another order
};
// Tapelens's own by id; a shared library may bring others.
std::span<const RewriteInfo> catalog();
bool reorders_sums(std::string_view id);  // of what the catalog does not have: no

}  // namespace tapelens::rewrites
