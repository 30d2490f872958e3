// The live bytes of a device, a column a pixel, at a cost that depends on the pixels.
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

// What a column shows: the moment in it at which most was alive, what was alive at its begin included.
struct Column {
  Bytes most;
  uint32_t events = 0;                             // of the timeline, before that moment
  std::array<int64_t, Grouping::kGroups> bytes{};  // of each group then; their sum is `most`
};

class Curve {
 public:
  Curve(const Timeline& timeline, Grouping grouping);

  const Grouping& grouping() const { return grouping_; }
  Bytes most_of(uint8_t group) const { return Bytes{most_[group]}; }  // that was ever alive of it
  void columns(const TimeAxis& axis, std::vector<Column>& out) const;
  // Of a moment: after so many events.
  std::array<int64_t, Grouping::kGroups> bytes_after(uint32_t events) const;

 private:
  const Timeline& timeline_;
  Grouping grouping_;
  std::array<int64_t, Grouping::kGroups> most_{};
  std::vector<uint8_t> group_;  // of each event's allocation: read in order, where `of` would be jumped about in
  std::vector<std::array<int64_t, Grouping::kGroups>> sums_;  // before each block of the timeline, and behind the last
};

// The most in each column.
void most_columns(const Timeline& timeline, const TimeAxis& axis, std::vector<Bytes>& out);

// The live bytes of some of the allocations; `is_of_it` is by allocation, and the same at every call.
class Portion {
 public:
  Portion() = default;
  Portion(const Timeline& timeline, const std::vector<uint8_t>& is_of_it);

  // The most in each column, of these bytes alone.
  void columns(const Timeline& timeline, const std::vector<uint8_t>& is_of_it, const TimeAxis& axis,
               std::vector<Bytes>& out) const;
  Bytes most() const { return most_; }
  Time when() const { return when_; }

 private:
  struct Block {
    int64_t before, most;  // before its first event; the largest after one of them
  };
  std::vector<Block> blocks_;  // of Timeline::kBlock events
  Bytes most_;
  Time when_;
};

// The same curve with some bytes gone: Replay::Outcome::lower.
class Lowered {
 public:
  Lowered() = default;
  Lowered(const Timeline& timeline, std::vector<peak::Replay::Outcome::Lower> lower);

  // The most in each column.
  void columns(const Timeline& timeline, const TimeAxis& axis, std::vector<Bytes>& out) const;

 private:
  // The most after the events [first, last), in one block of the timeline.
  int64_t most_in(const Timeline& timeline, uint32_t first, uint32_t last) const;

  std::vector<peak::Replay::Outcome::Lower> lower_;
  std::vector<uint32_t> begin_;  // of each block of the timeline: the first of lower_ that is not before it
  std::vector<int64_t> most_;    // of each block
};

}  // namespace tapelens::picture
