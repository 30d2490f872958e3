#include "gui/picture/segment_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tapelens::picture {

namespace {
constexpr int64_t kSmallestBlock = 512;

auto group_of(const peak::SegmentAt& s) { return std::tuple(s.stream, s.graph_pool, s.user_pool); }
}  // namespace

SegmentMap::SegmentMap(const std::vector<peak::SegmentAt>& segments, int width, double bytes_per_pixel)
    : segments_(segments),
      width_(std::max(kLeast, width)),
      bytes_per_pixel_(bytes_per_pixel),
      first_piece_(segments.size()) {
  std::vector<uint32_t> order(segments.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](uint32_t s) { return group_of(segments_[s]); });
  for (size_t i = 0; i < order.size(); ++i) {
    const peak::SegmentAt& segment = segments_[order[i]];
    if (i == 0 || group_of(segments_[order[i - 1]]) != group_of(segment)) {
      if (i > 0) ++rows_;  // the last row of the previous group
      groups_.push_back({order[i], 0, {}, {}, {}, rows_++});
      x_ = 0;
    }
    Group& group = groups_.back();
    ++group.segments;
    group.bytes += segment.bytes;
    group.used += segment.used;
    group.largest_hole = std::max(group.largest_hole, segment.largest_hole);
    lay(order[i]);
  }
  if (!order.empty()) ++rows_;
}

void SegmentMap::lay(uint32_t segment) {
  const int64_t bytes = segments_[segment].bytes.value;
  auto left = static_cast<int64_t>(
      std::clamp(std::ceil(static_cast<double>(bytes) / bytes_per_pixel_), 1.0 * kLeast, 1e9));  // pixels
  if (x_ > 0 && x_ + left > width_) {
    ++rows_;
    x_ = 0;
  }
  first_piece_[segment] = static_cast<uint32_t>(pieces_.size());
  for (int64_t begin = 0, pixels = 0; left > 0;) {
    const int64_t taken = std::min<int64_t>(left, width_ - x_);
    pixels += taken;
    left -= taken;
    int64_t end = std::min(bytes, static_cast<int64_t>(static_cast<double>(pixels) * bytes_per_pixel_));
    // Rows begin at a block boundary, unless a row is shorter than a block.
    if (const int64_t block = end / kSmallestBlock * kSmallestBlock; block > begin) end = block;
    if (left == 0) end = bytes;
    pieces_.push_back({segment, begin, end, rows_, x_, x_ + static_cast<int>(taken)});
    begin = end;
    x_ += static_cast<int>(taken);
    if (left == 0) break;
    ++rows_;
    x_ = 0;
  }
  x_ += kGap;
  if (x_ + kLeast > width_) x_ = width_;  // the next segment starts a row
}

double SegmentMap::scale_for(const std::vector<peak::SegmentAt>& segments, int width, int rows) {
  double sum = 0, largest = 1;
  for (const peak::SegmentAt& segment : segments) {
    sum += static_cast<double>(segment.bytes.value);
    largest = std::max(largest, static_cast<double>(segment.bytes.value));
  }
  double scale = std::max(kSmallestBlock / 16.0, sum / (static_cast<double>(std::max(1, width)) * std::max(1, rows)));
  while (scale < largest && SegmentMap(segments, width, scale).rows() > rows) scale *= 1.08;
  return scale;
}

int SegmentMap::x_of(const Piece& piece, int64_t byte) const {
  if (byte <= piece.begin) return piece.x0;
  if (byte >= piece.end) return piece.x1;
  // If a segment is drawn wider than its bytes, its blocks are stretched too.
  const double share = static_cast<double>(byte - piece.begin) / static_cast<double>(piece.end - piece.begin);
  return piece.x0 + static_cast<int>(share * (piece.x1 - piece.x0));
}

std::pair<size_t, size_t> SegmentMap::pieces_of(int first_row, int last_row) const {
  const auto first = std::ranges::lower_bound(pieces_, first_row, {}, &Piece::row);
  const auto last = std::ranges::upper_bound(pieces_, last_row, {}, &Piece::row);
  return {static_cast<size_t>(first - pieces_.begin()), static_cast<size_t>(last - pieces_.begin())};
}

SegmentMap::Hit SegmentMap::at(int row, int x) const {
  const auto [first, last] = pieces_of(row, row);
  for (size_t i = first; i < last; ++i) {
    const Piece& piece = pieces_[i];
    if (x < piece.x0 || x >= piece.x1) continue;
    const double share = (x - piece.x0 + 0.5) / (piece.x1 - piece.x0);
    Hit hit{piece.segment, piece.begin + static_cast<int64_t>(share * static_cast<double>(piece.end - piece.begin)),
            nullptr};
    // Each pixel shows the first of its blocks, as painted.
    each_block(piece, [&](const peak::BlockAt& block, int x0, int x1) {
      if (x0 <= x && x < x1) hit.block = &block;
    });
    return hit;
  }
  return {};
}

int SegmentMap::row_of(uint32_t segment, int64_t byte) const {
  size_t i = first_piece_[segment];
  while (i + 1 < pieces_.size() && pieces_[i + 1].segment == segment && pieces_[i].end <= byte) ++i;
  return pieces_[i].row;
}

std::vector<SegmentMap::Rectangle> SegmentMap::rectangles(uint32_t segment, int64_t begin, int64_t end) const {
  std::vector<Rectangle> out;
  for (size_t i = first_piece_[segment]; i < pieces_.size() && pieces_[i].segment == segment; ++i) {
    const Piece& piece = pieces_[i];
    if (piece.end <= begin || piece.begin >= end) continue;
    const int x0 = std::min(x_of(piece, begin), piece.x1 - 1);
    out.push_back({piece.row, x0, std::max(x_of(piece, end), x0 + 1)});
  }
  return out;
}

}  // namespace tapelens::picture
