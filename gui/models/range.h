// The answers for a selected range of the timeline: its peak, its growth, its allocations, and those of them that stay.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/document.h"

namespace tapelens::gui {

struct RangeFacts {
  Interval when;
  Bytes peak;
  Time peak_time;
  Bytes begin, end;          // live bytes at the begin and at the end
  uint64_t allocations = 0;  // in the range, freed or not
  Bytes allocated;
  uint64_t freed = 0;  // these allocations, freed in the range

  // The allocations of the range that are alive at its end, by the operator and the line that made them.
  struct Group {
    QString op, source, module;  // the module has the largest allocation; empty: unknown
    uint64_t allocations = 0;
    Bytes bytes;
    AllocationId largest;
  };
  std::vector<Group> stay;  // the largest groups, at most kMostGroups
  uint64_t groups = 0;      // all of them
  static constexpr size_t kMostGroups = 8;
};

// Linear in the events of the range.
RangeFacts range_facts(const Document& document, const Subject& subject, Interval range);

}  // namespace tapelens::gui
