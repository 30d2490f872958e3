// Data of a report's pictures: memory over time, and the change that each finding makes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/groups.h"

namespace tapelens::report {

// Without something that was found.
struct WhatIf {
  peak::Bytes peak;  // that is left
  peak::Time when;   // of it
  // Allocations alive at the report's moment that would be gone. Ids, in ascending order.
  std::vector<uint32_t> freed;
  peak::Bytes freed_bytes;
  std::vector<int64_t> lower;  // by how much the curve is lower at each of its points; negative: higher
};

struct Overview {
  // A point's values hold until the next point. Of omitted events, the minimum and the maximum remain.
  struct Point {
    peak::Time time;
    std::array<int64_t, peak::kHolderKinds> bytes{};  // by role, which is of an allocation's whole life
  };
  std::vector<Point> points;
  uint64_t events = 0;             // that the curve is made of
  std::vector<uint8_t> stacked;    // the roles of which there is anything, from the bottom of the stack up
  std::vector<peak::Group> lines;  // the program's lines by the bytes alive that they made, the most first
  // Each of the first findings and entries of the advice alone. `all`: the whole advice together.
  std::vector<WhatIf> findings, entries;
  std::optional<WhatIf> all;
};

inline constexpr uint32_t kMostPoints = 3000;  // with some more of borders
inline constexpr size_t kMostWhatIfs = 40;     // of findings, and of entries

// `set`: the allocations alive at the report's moment. `changes`: from advise().
Overview describe_overview(const peak::DeviceAnalysis& device, const peak::PeakSet& set, const advise::Advice* advice,
                           std::span<const advise::Change> changes);

}  // namespace tapelens::report
