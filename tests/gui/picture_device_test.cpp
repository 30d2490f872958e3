// Curves of a device's allocator and the map of its segments, compared with oracles that visit every value and every
// byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "gui/picture/device_lines.h"
#include "gui/picture/segment_map.h"

namespace tapelens::picture {
namespace {

using model::Interval;
using model::Time;

peak::StepCurve random_curve(std::mt19937& random, int values) {
  peak::StepCurve curve;
  int64_t now = 0, sum = 0;
  for (int i = 0; i < values; ++i) {
    now += random() % 4 == 0 ? random() % 500 : random() % 3;  // several events have the same time
    const auto change = static_cast<int64_t>(random() % 1000);
    const int64_t by = random() % 2 == 0 || sum < change ? change : -change;
    curve.add(Time{now}, by);
    sum += by;
  }
  return curve;
}

TEST(PictureDeviceLines, EachColumnIsTheMostOfItsTimes) {
  std::mt19937 random(5);
  for (const int values : {0, 1, 63, 64, 65, 5000, 20'000}) {
    const peak::StepCurve curve = random_curve(random, values);
    const Line line(curve);
    EXPECT_EQ(line.is_flat(), values == 0);
    const int64_t whole = values == 0 ? 1000 : curve.time[curve.time.size() - 1] + 100;
    for (int i = 0; i < 12; ++i) {
      const int64_t length = std::max<int64_t>(1, whole >> (i % 6)), begin = static_cast<int64_t>(random()) % whole;
      const TimeAxis axis({Time{begin}, Time{begin + length}}, 1 + static_cast<int>(random() % 300));
      std::vector<Bytes> columns;
      line.columns(axis, columns);
      ASSERT_EQ(columns.size(), static_cast<size_t>(axis.width));
      for (int c = 0; c < axis.width; ++c) {
        int64_t most = curve.at(Time{axis.time_of(c).ns - 1});
        for (size_t e = 0; e < curve.time.size(); ++e) {
          if (curve.time[e] >= axis.time_of(c).ns && curve.time[e] < axis.time_of(c + 1).ns)
            most = std::max(most, curve.value[e]);
        }
        ASSERT_EQ(columns[static_cast<size_t>(c)].value, most) << values << " values, column " << c;
      }
    }
  }
}

TEST(PictureDeviceLines, ActiveIsWhatIsAllocatedAndWhatWaits) {
  peak::DeviceMemory memory;
  memory.allocated.add(Time{10}, 100);
  memory.allocated.add(Time{20}, 50);
  memory.allocated_peak = Bytes{150};
  {
    const DeviceLines lines(memory);
    EXPECT_TRUE(lines.active.is_flat()) << "nothing ever waited";
    EXPECT_TRUE(lines.reserved.is_flat());
    EXPECT_EQ(lines.most, Bytes{150});
  }
  memory.allocated.add(Time{30}, -100);
  memory.waiting.add(Time{30}, 100);
  memory.allocated.add(Time{40}, 70);
  memory.waiting.add(Time{50}, -100);
  memory.active_peak = Bytes{220};
  const DeviceLines lines(memory);
  const model::SortedTimes& times = lines.active_bytes.time;
  ASSERT_EQ(times.size(), 5U);
  for (size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], static_cast<int64_t>(10 * (i + 1)));
  EXPECT_EQ(lines.active_bytes.value, (std::vector<int64_t>{100, 150, 150, 220, 120}));
  EXPECT_EQ(lines.most, Bytes{220});
}

// ---- segments

struct Segments {
  std::vector<peak::SegmentAt> all;

  explicit Segments(uint32_t seed, int count = 60) {
    std::mt19937 random(seed);
    uint64_t next = 0x1000;
    uint32_t id = 0;
    for (int i = 0; i < count; ++i) {
      peak::SegmentAt segment;
      segment.address = next;
      segment.bytes.value = static_cast<int64_t>(512 * (1 + random() % (i % 7 == 0 ? 40'000 : 300)));
      segment.stream = random() % 3;
      segment.user_pool = static_cast<uint32_t>(random() % 2);
      uint64_t at = next;
      const uint64_t end = next + static_cast<uint64_t>(segment.bytes.value);
      while (at < end) {
        const uint64_t bytes = std::min<uint64_t>(512 * (1 + random() % 60), end - at);
        if (random() % 3 != 0) {
          segment.blocks.push_back({AllocationId{++id}, at, Bytes{static_cast<int64_t>(bytes)}, random() % 9 == 0});
          segment.used.value += static_cast<int64_t>(bytes);
        }
        at += bytes;
      }
      all.push_back(segment);
      next = end + 512 * (random() % 3);
    }
  }
};

TEST(PictureSegments, EveryByteLiesInOnePieceAndNoTwoPiecesOverlap) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    const Segments segments(seed);
    std::mt19937 random(seed);
    const int width = 20 + static_cast<int>(random() % 900);
    const SegmentMap map(segments.all, width, 100.0 * (1 + random() % 300));
    std::vector<int64_t> covered(segments.all.size());
    std::map<int, int> end_of_row;
    for (const SegmentMap::Piece& piece : map.pieces()) {
      EXPECT_EQ(piece.begin, covered[piece.segment]) << "in the order of addresses";
      covered[piece.segment] = piece.end;
      EXPECT_LT(piece.x0, piece.x1);
      EXPECT_GE(piece.x0, end_of_row[piece.row]);
      EXPECT_LE(piece.x1, width);
      EXPECT_LT(piece.row, map.rows());
      end_of_row[piece.row] = piece.x1;
    }
    uint32_t counted = 0;
    for (size_t s = 0; s < segments.all.size(); ++s) EXPECT_EQ(covered[s], segments.all[s].bytes.value);
    for (const SegmentMap::Group& group : map.groups()) {
      counted += group.segments;
      EXPECT_FALSE(end_of_row.contains(group.row)) << "a row for its name";
    }
    EXPECT_EQ(counted, segments.all.size());
    EXPECT_EQ(map.groups().size(), 6u) << "three streams with two pools each";
  }
}

TEST(PictureSegments, WhatIsPaintedIsFoundWhereItIs) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    const Segments segments(seed);
    const SegmentMap map(segments.all, 500, seed % 2 == 0 ? 90 : 4000);
    size_t seen = 0;
    for (const SegmentMap::Piece& piece : map.pieces()) {
      int last = piece.x0;
      map.each_block(piece, [&](const peak::BlockAt& block, int x0, int x1) {
        EXPECT_GE(x0, last);
        EXPECT_LE(x1, piece.x1);
        ASSERT_LT(x0, x1);
        last = x1;
        ++seen;
        for (const int x : {x0, x1 - 1}) {
          const SegmentMap::Hit place = map.at(piece.row, x);
          EXPECT_EQ(place.segment, piece.segment);
          ASSERT_EQ(place.block, &block);
        }
        const peak::SegmentAt& segment = segments.all[piece.segment];
        const auto begin = static_cast<int64_t>(block.address - segment.address);
        const auto all = map.rectangles(piece.segment, begin, begin + block.rounded.value);
        EXPECT_TRUE(std::ranges::any_of(
            all, [&](const auto& r) { return r.row == piece.row && r.x0 <= x0 && x1 <= r.x1 + 1; }));
      });
      EXPECT_EQ(map.row_of(piece.segment, piece.begin), piece.row);
    }
    size_t blocks = 0;
    for (const peak::SegmentAt& segment : segments.all) blocks += segment.blocks.size();
    // The detailed map shows every block; the coarse map shows at most one block for each pixel.
    EXPECT_GE(seen, seed % 2 == 0 ? blocks : 1);
    EXPECT_EQ(map.at(map.rows(), 0).segment, UINT32_MAX);
    EXPECT_EQ(map.at(map.groups()[0].row, 0).segment, UINT32_MAX);
  }
}

TEST(PictureSegments, TheScaleIsTheMostDetailedThatFits) {
  const Segments segments(3);
  for (const int rows : {20, 60, 400}) {
    const double scale = SegmentMap::scale_for(segments.all, 800, rows);
    EXPECT_LE(SegmentMap(segments.all, 800, scale).rows(), rows);
    EXPECT_GT(SegmentMap(segments.all, 800, scale / 1.2).rows(), rows) << rows;
  }
  // No scale fits into two rows; scale_for() returns nevertheless.
  EXPECT_GT(SegmentMap(segments.all, 800, SegmentMap::scale_for(segments.all, 800, 2)).rows(), 2);
}

TEST(PictureSegments, ABrokenRecordingIsNoHarm) {
  std::vector<peak::SegmentAt> segments(2);
  segments[1].address = 0x1000;
  segments[1].bytes = Bytes{512};
  segments[1].blocks = {{AllocationId{1}, 0x1100, Bytes{1 << 20}, false}};  // longer than its segment
  const SegmentMap map(segments, 100, 8);
  EXPECT_EQ(map.row_of(0, 0), 1);
  EXPECT_EQ(map.at(1, 1).segment, 0u);
  for (const SegmentMap::Piece& piece : map.pieces())
    map.each_block(piece, [&](const peak::BlockAt&, int, int x1) { EXPECT_LE(x1, piece.x1); });
  const std::vector<peak::SegmentAt> none;
  EXPECT_EQ(SegmentMap(none, 100, 8).rows(), 0);
}

}  // namespace
}  // namespace tapelens::picture
