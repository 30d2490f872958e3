// Names the line of the program that made memory grow: a changed line if one is known. Says why it is named.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"

namespace tapelens::compare {

struct Cause {
  Frame where;            // line 0: unknown
  std::string statement;  // the text of that line; for a removed line its old text
  std::string why;        // "added; the only line that changed", "allocates the largest part of the growth"
};

// `grown` is sorted by bytes, the most first.
Cause cause_of(const Comparison& comparison, const std::vector<ComparedRow>& grown);

}  // namespace tapelens::compare
