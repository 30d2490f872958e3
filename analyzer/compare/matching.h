// Matches the rows of two runs by holder, operator, module, function and statement. Line numbers come last, because
// they move with every edit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/compare/snapshot.h"

namespace tapelens::compare {

struct Pair {
  std::optional<uint32_t> a, b;  // indices; at least one of them
};

// Rows without a match are alone. Rows in `b` come in its order, then the rows only in `a`.
std::vector<Pair> matched(const std::vector<Row>& a, const std::vector<Row>& b);

// The indices of findings that are in `b` and not in `a`.
std::vector<uint32_t> new_findings(const std::vector<KnownFinding>& a, const std::vector<KnownFinding>& b);

}  // namespace tapelens::compare
