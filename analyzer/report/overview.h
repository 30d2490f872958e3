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
#include "analyzer/peak/pauses.h"

namespace tapelens::report {

// The timeline with one finding, entry, or the whole advice fixed.
struct FixedTimeline {
  peak::Bytes peak;  // after the fix
  peak::Time when;   // of that peak
  // Allocations alive at the report's moment that would be gone. Ids, in ascending order.
  std::vector<uint32_t> freed;
  peak::Bytes freed_bytes;
  std::vector<int64_t> lower;  // by how much the curve is lower at each of its points; negative: higher
};

struct Overview {
  // A point's values hold until the next point. Of omitted events, the minimum and the maximum remain.
  struct Point {
    peak::Time time;
    uint32_t number = 0;                              // of its event, from 1
    std::array<int64_t, peak::kHolderKinds> bytes{};  // by role, which is of an allocation's whole life
  };
  std::vector<Point> points;
  uint64_t events = 0;                       // events that the curve summarizes
  peak::Pauses pauses;                       // of the device
  std::vector<uint8_t> stacked;              // roles with any bytes, from the bottom of the stack up
  std::vector<peak::AllocationGroup> lines;  // the program's lines by the bytes alive that they made, the most first
  // Each of the first findings and entries of the advice alone. `all`: the whole advice together.
  std::vector<FixedTimeline> findings, entries;
  std::optional<FixedTimeline> all;
};

inline constexpr uint32_t kMostPoints = 3000;  // plus a few points at borders
inline constexpr size_t kMostWhatIfs = 40;     // for findings, and again for entries

// `set`: the allocations alive at the report's moment. `changes`: from advise().
Overview describe_overview(const peak::DeviceAnalysis& device, const peak::PeakSet& set, const advise::Advice* advice,
                           std::span<const advise::TimelineChange> changes);

}  // namespace tapelens::report
