#include "analyzer/compare/groups.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tapelens::compare {

const char* change_name(Change change) {
  switch (change) {
    case Change::is_new:
      return "new";
    case Change::increased:
      return "increased";
    case Change::decreased:
      return "decreased";
    case Change::removed:
      return "removed";
    case Change::same:
      break;
  }
  return "same";
}

Change ComparedGroup::change() const {
  if (allocations_a == 0) return Change::is_new;
  if (allocations_b == 0) return Change::removed;
  return a < b ? Change::increased : b < a ? Change::decreased : Change::same;
}

std::vector<ComparedGroup> summed(std::vector<ComparedGroup> groups) {
  std::map<std::string, ComparedGroup> by_name;
  for (const ComparedGroup& group : groups) {
    ComparedGroup& sum = by_name[group.name];
    sum.a = sum.a + group.a;
    sum.b = sum.b + group.b;
    sum.allocations_a += group.allocations_a;
    sum.allocations_b += group.allocations_b;
  }
  groups.clear();
  for (auto& [name, sum] : by_name) {
    sum.name = name;
    groups.push_back(std::move(sum));
  }
  std::ranges::stable_sort(groups, std::ranges::greater(),
                           [](const ComparedGroup& group) { return std::abs(group.difference().value); });
  return groups;
}

std::vector<ComparedGroup> compared(const std::vector<peak::AllocationGroup>& a,
                                    const std::vector<peak::AllocationGroup>& b) {
  std::vector<ComparedGroup> all;
  for (const peak::AllocationGroup& group : a) all.push_back({group.key, group.bytes, {}, group.allocations, 0});
  for (const peak::AllocationGroup& group : b) all.push_back({group.key, {}, group.bytes, 0, group.allocations});
  return summed(std::move(all));
}

}  // namespace tapelens::compare
