// Which row of one run is which of another: by what holds it, the operator, the module, the function and the statement;
// line numbers, which move with every edit, come last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/compare/snapshot.h"

namespace tapelens::compare {

struct Pair {
  std::optional<uint32_t> a, b;  // places; one of them at least
};

// Rows of either that have no like are alone. Those of both in the order of b, then those of a alone.
std::vector<Pair> matched(const std::vector<Row>& a, const std::vector<Row>& b);

// Findings of `b` that `a` has not, as places.
std::vector<uint32_t> new_findings(const std::vector<KnownFinding>& a, const std::vector<KnownFinding>& b);

}  // namespace tapelens::compare
