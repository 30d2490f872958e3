// Compares the sums of two peaks by the same keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/peak/groups.h"

namespace tapelens::compare {

using model::Bytes;

enum class Change : uint8_t { is_new, increased, same, decreased, removed };
const char* change_name(Change change);  // "new", "increased", "same", "decreased", "removed"

struct ComparedGroup {
  std::string name;
  Bytes a, b;
  uint64_t allocations_a = 0, allocations_b = 0;

  Bytes difference() const { return b - a; }
  Change change() const;
};

// Every group of `a` or `b`, the largest difference first, then by name.
std::vector<ComparedGroup> compared(const std::vector<peak::AllocationGroup>& a,
                                    const std::vector<peak::AllocationGroup>& b);
// The same for compared groups; groups of the same name are added up.
std::vector<ComparedGroup> summed(std::vector<ComparedGroup> groups);

}  // namespace tapelens::compare
