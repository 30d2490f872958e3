// Which line of the program is named for what grew: one that changed, where that is known, and how sure that is.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"

namespace tapelens::compare {

struct Cause {
  Frame where;            // line 0: none is known
  std::string statement;  // what stands there; of a removed line what stood there
  std::string why;        // "added; the only line that changed", "allocates most of what grew"
};

// `grown`: the most bytes first.
Cause cause_of(const Comparison& comparison, const std::vector<ComparedRow>& grown);

}  // namespace tapelens::compare
