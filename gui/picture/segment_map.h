// Segments of a device as strips over their addresses. They follow one another like words, in rows of equal width; a
// segment longer than a row continues in the next one. Segments of one stream and pool form a group, below a row for
// its name.
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
  static constexpr int kLeast = 3;  // least width of a segment, in pixels

  // The part of a segment in one row: bytes [begin, end) at the pixels [x0, x1).
  struct Piece {
    uint32_t segment = 0;
    int64_t begin = 0, end = 0;
    int row = 0, x0 = 0, x1 = 0;
  };
  // The segments of one stream and pool.
  struct Group {
    uint32_t first_segment = 0;  // any segment of the group
    uint32_t segments = 0;
    Bytes bytes, used, largest_hole;
    int row = 0;  // the row of its name
  };
  struct Hit {
    uint32_t segment = UINT32_MAX;  // UINT32_MAX: no segment
    int64_t byte = 0;               // from the begin of the segment
    const peak::BlockAt* block = nullptr;
  };
  struct Rectangle {
    int row = 0, x0 = 0, x1 = 0;
  };

  // Sorted by address; they must outlive the map.
  SegmentMap(const std::vector<peak::SegmentAt>& segments, int width, double bytes_per_pixel);
  // The most detailed scale that needs at most `rows` rows, if it exists.
  static double scale_for(const std::vector<peak::SegmentAt>& segments, int width, int rows);

  const std::vector<peak::SegmentAt>& segments() const { return segments_; }
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<Piece>& pieces() const { return pieces_; }  // by row, then from left to right
  int rows() const { return rows_; }

  // The indices of the pieces in some rows.
  std::pair<size_t, size_t> pieces_of(int first_row, int last_row) const;
  Hit at(int row, int x) const;
  // The row of a byte, counted from the begin of the segment.
  int row_of(uint32_t segment, int64_t byte) const;
  // One rectangle for each row that the block is in.
  std::vector<Rectangle> rectangles(uint32_t segment, int64_t begin, int64_t end) const;
  // Calls visit(block, x0, x1) for the visible blocks of a piece; if several share a pixel, for the first one.
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
  // Blocks do not overlap, so their ends are sorted too.
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
