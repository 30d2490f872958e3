// The live bytes of a device, one column a pixel. The cost depends on the number of pixels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/peak/grouping.h"
#include "analyzer/peak/replay.h"
#include "analyzer/peak/timeline.h"
#include "gui/picture/axis.h"

namespace tapelens::picture {

using namespace model;
using peak::Grouping;
using peak::Timeline;

// The time within a column at which the most bytes are alive; the begin of the column counts too.
struct PixelColumn {
  Bytes most;
  uint32_t events = 0;                             // events of the timeline before that time
  std::array<int64_t, Grouping::kGroups> bytes{};  // by group at that time; the sum is `most`
};

class Curve {
 public:
  Curve(const Timeline& timeline, Grouping grouping);

  const Grouping& grouping() const { return grouping_; }
  Bytes most_of(uint8_t group) const { return Bytes{most_[group]}; }  // the group's own maximum
  void columns(const TimeAxis& axis, std::vector<PixelColumn>& out) const;
  // The bytes at a time, given as the number of events before it.
  std::array<int64_t, Grouping::kGroups> bytes_after(uint32_t events) const;

 private:
  const Timeline& timeline_;
  Grouping grouping_;
  std::array<int64_t, Grouping::kGroups> most_{};
  // Of each event's allocation, in the order of events: random access to `of` is slow.
  std::vector<uint8_t> group_;
  std::vector<std::array<int64_t, Grouping::kGroups>> sums_;  // before each block of the timeline, and after the last
};

// The maximum of each column.
void most_columns(const Timeline& timeline, const TimeAxis& axis, std::vector<Bytes>& out);

// The live bytes of some allocations. `is_of_it` is indexed by allocation, and must be the same in every call.
class Portion {
 public:
  Portion() = default;
  Portion(const Timeline& timeline, const std::vector<uint8_t>& is_of_it);

  // The maximum of these bytes in each column.
  void columns(const Timeline& timeline, const std::vector<uint8_t>& is_of_it, const TimeAxis& axis,
               std::vector<Bytes>& out) const;
  Bytes most() const { return most_; }
  Time when() const { return when_; }

 private:
  struct Block {
    int64_t before, most;  // before its first event; the maximum after any of its events
  };
  std::vector<Block> blocks_;  // blocks of Timeline::kBlock events
  Bytes most_;
  Time when_;
};

// The curve after removed bytes: Replay::Outcome::lower.
class Lowered {
 public:
  Lowered() = default;
  Lowered(const Timeline& timeline, std::vector<peak::Replay::Outcome::Lower> lower);

  // The maximum of each column.
  void columns(const Timeline& timeline, const TimeAxis& axis, std::vector<Bytes>& out) const;

 private:
  // The maximum after the events [first, last), all in one block of the timeline.
  int64_t most_in(const Timeline& timeline, uint32_t first, uint32_t last) const;

  std::vector<peak::Replay::Outcome::Lower> lower_;
  std::vector<uint32_t> begin_;  // for each block of the timeline: the first change in lower_ that is not before it
  std::vector<int64_t> most_;    // of each block
};

}  // namespace tapelens::picture
