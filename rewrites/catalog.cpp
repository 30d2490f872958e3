#include "rewrites/catalog.h"

#include <algorithm>

namespace tapelens::rewrites {

bool reorders_sums(std::string_view id) {
  const auto at = std::ranges::find(catalog(), id, &RewriteInfo::id);
  return at != catalog().end() && at->reorders_sums;
}

}  // namespace tapelens::rewrites
