// The allocations of a moment as the lines of a list for people: equal allocations of equal layers are one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

// Allocations with the same bytes, holders, shape, operator, line and step, whose modules and parameters differ at most
// in numbers.
struct AllocationLine {
  const Allocation* first = nullptr;  // of Report::peak
  uint64_t allocations = 1;
  std::string holder;   // holders_text(): "gradient of layer.{0-3}.weight"
  std::string subject;  // the text of the main holder alone
  std::string module;   // the path below AllocationLines::parent; empty: none
};
struct AllocationLines {
  std::string parent;  // the path that begins the modules of all lines; empty: none
  std::vector<AllocationLine> lines;
  uint64_t allocations = 0;  // in the lines
};

// The biggest allocations of the report's moment, in at most `most` lines.
AllocationLines biggest(const Report& report, size_t most);

}  // namespace tapelens::report
