// What a picture of a report shows beside its words: memory over time, and what each finding changes of it.
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
  // Of what was alive at the moment that the report is about: what would not have been. Ids, in their order.
  std::vector<uint32_t> freed;
  peak::Bytes freed_bytes;
  std::vector<int64_t> lower;  // by how much the curve is lower at each of its points; negative: higher
};

struct Overview {
  // Values hold from their times on, to the next. Of what is left out, what is least and what is most between two
  // points is there.
  struct Point {
    peak::Time time;
    std::array<int64_t, peak::kHolderKinds> bytes{};  // by role, which is of an allocation's whole life
  };
  std::vector<Point> points;
  uint64_t events = 0;             // that the curve is made of
  std::vector<uint8_t> stacked;    // the roles of which there is anything, from the bottom of the stack up
  std::vector<peak::Group> lines;  // of the program: what was alive by the line that made it, the most first
  // Of the first findings and entries of the advice, each alone; of all that the advice counts on together.
  std::vector<WhatIf> findings, entries;
  std::optional<WhatIf> all;
};

inline constexpr uint32_t kMostPoints = 3000;  // with some more of borders
inline constexpr size_t kMostWhatIfs = 40;     // of findings, and of entries

// `set`: what was alive at the moment that the report is about. `changes`: as advise() has them.
Overview describe_overview(const peak::DeviceAnalysis& device, const peak::PeakSet& set, const advise::Advice* advice,
                           std::span<const advise::Change> changes);

}  // namespace tapelens::report
