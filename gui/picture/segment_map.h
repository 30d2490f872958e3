// Segments of a device as strips, address by bytes: one after another like words, in rows of one width; a segment that
// is longer than a row goes on in the next. Those of one stream and pool stand together, below a row for their name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/peak/device_memory.h"

namespace tapelens::picture {

using model::AllocationId;
using model::Bytes;

class SegmentMap {
 public:
  static constexpr int kGap = 3;    // pixels between two segments
  static constexpr int kLeast = 3;  // pixels of a segment

  // Part of a segment in a row: its bytes [begin, end) at the pixels [x0, x1).
  struct Piece {
    uint32_t segment = 0;
    int64_t begin = 0, end = 0;
    int row = 0, x0 = 0, x1 = 0;
  };
  // Of one stream and pool.
  struct Group {
    uint32_t first_segment = 0;  // any of them
    uint32_t segments = 0;
    Bytes bytes, used, largest_hole;
    int row = 0;  // of its name
  };
  struct Hit {
    uint32_t segment = UINT32_MAX;  // UINT32_MAX: there is none
    int64_t byte = 0;               // from its begin
    const peak::BlockAt* block = nullptr;
  };
  struct Rectangle {
    int row = 0, x0 = 0, x1 = 0;
  };

  // By address; they stay where they are.
  SegmentMap(const std::vector<peak::SegmentAt>& segments, int width, double bytes_per_pixel);
  // The most detailed that has so many rows, if there is such a one.
  static double scale_for(const std::vector<peak::SegmentAt>& segments, int width, int rows);

  const std::vector<peak::SegmentAt>& segments() const { return segments_; }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<Piece>& pieces() const { return pieces_; }  // by row, then from the left
  int rows() const { return rows_; }

  // The pieces of some rows.
  std::pair<size_t, size_t> pieces_of(int first_row, int last_row) const;
  Hit at(int row, int x) const;
  // Of that byte of a segment, counted from its begin.
  int row_of(uint32_t segment, int64_t byte) const;
  // A piece of a block a row; several if it goes over the end of one.
  std::vector<Rectangle> rectangles(uint32_t segment, int64_t begin, int64_t end) const;
  // Calls visit(block, x0, x1) for what is seen of the blocks of a piece; of several in one pixel for the first.
  template <class Visit>
  void each_block(const Piece& piece, Visit&& visit) const;

 private:
  void lay(uint32_t segment);
  int x_of(const Piece& piece, int64_t byte) const;

  const std::vector<peak::SegmentAt>& segments_;
  int width_;
  double bytes_per_pixel_;
  std::vector<Group> groups_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> first_piece_;  // by segment
  int rows_ = 0, x_ = 0;
};

template <class Visit>
void SegmentMap::each_block(const Piece& piece, Visit&& visit) const {
  const peak::SegmentAt& segment = segments_[piece.segment];
  const auto begin_of = [&](const peak::BlockAt& block) {
    return static_cast<int64_t>(block.address - segment.address);
  };
  // Blocks do not overlap: their ends are in order, too.
  auto block = std::ranges::partition_point(
      segment.blocks, [&](const peak::BlockAt& b) { return begin_of(b) + b.rounded.value <= piece.begin; });
  int seen = piece.x0;
  for (; block != segment.blocks.end() && begin_of(*block) < piece.end; ++block) {
    const int x0 = std::min(x_of(piece, begin_of(*block)), piece.x1 - 1);
    const int x1 = std::max(x_of(piece, begin_of(*block) + block->rounded.value), x0 + 1);
    if (x1 <= seen) continue;
    visit(*block, std::max(x0, seen), x1);
    seen = x1;
  }
}

}  // namespace tapelens::picture
