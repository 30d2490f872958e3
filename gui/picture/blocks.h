// Allocations as rectangles: the width is the lifetime, the height is the bytes. The vertical place is chosen at birth
// and kept until the free.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/model/sorted_times.h"
#include "analyzer/peak/timeline.h"
#include "gui/picture/axis.h"
#include "gui/picture/curve.h"

namespace tapelens::picture {

// The shown range of bytes, from below.
struct ByteAxis {
  int64_t begin = 0, end = 1;
  int height = 1;  // in pixels of the device

  double bytes_per_pixel() const { return static_cast<double>(end - begin) / height; }
  // Pixels count from the top.
  double y_of(int64_t byte) const {
    return static_cast<double>(end - byte) * height / static_cast<double>(end - begin);
  }
  int64_t byte_of(double y) const { return end - static_cast<int64_t>(y * bytes_per_pixel()); }
};

class Blocks {
 public:
  Blocks(const Process& process, const Timeline& timeline, Bytes peak);

  // The place of an allocation; -1 if it is on another device or external memory.
  int64_t place(AllocationId allocation) const { return place_[allocation.value]; }
  int64_t extent() const { return extent_; }  // end of the highest place
  // The allocation at a time and a byte; none if the place is empty.
  AllocationId at(Time time, int64_t byte) const;

  // In pixels of the canvas; at least one pixel wide and high.
  struct Rectangle {
    AllocationId allocation;
    int x0, x1, y0, y1;  // half open
  };
  // Calls `visit` for every block that lives for at least a pixel. A shorter block is kShort pixels wide, and only
  // visited if it is alive at the time that the highest of its columns shows. Blocks lower than a pixel are left out if
  // they are small (is_small), otherwise one pixel high. The cost depends on the number of pixels.
  static constexpr size_t kShort = 3;
  void visit(const TimeAxis& time, const ByteAxis& bytes, const std::vector<PixelColumn>& columns,
             const std::function<void(const Rectangle&)>& visit) const;

  // Allocations below this fraction of the peak are small: thousands of thin lines would not be readable.
  static constexpr int64_t kSmallShare = 1024;
  // Small allocations start here, above all others. A picture of the whole does not show them one by one.
  int64_t small_from() const { return small_from_; }
  bool has_small() const { return extent_ > small_from_; }
  // A picture of the whole shows the bytes from 0 up to this one: all but the small allocations, unless all are small.
  int64_t shown() const { return small_from_ > 0 ? small_from_ : extent_; }
  bool is_small(AllocationId allocation) const { return place_[allocation.value] >= small_from_; }

 private:
  // The data that a picture needs of an allocation, within one cache line.
  struct Entry {
    int64_t end;  // kNever: not freed
    int64_t place, bytes;
    uint32_t allocation;
  };
  // Allocations with lifetimes of [4^i, 4^(i+1)) ns and [4^j, 4^(j+1)) bytes, in the order of birth.
  struct Bucket {
    int life, size;
    bool is_small;
    SortedTimes begin;  // begins of the lifetimes
    std::vector<Entry> entries;
  };
  // The highest moment of kShort columns, and the longest column at it or beside them, in ns.
  struct Highest {
    peak::Moment moment;
    double longest_column;
  };
  template <class Emit>
  void visit_wide(const Bucket& bucket, const TimeAxis& time, const std::vector<Interval>& parts, Emit emit) const;
  template <class Emit>
  void visit_narrow(const Bucket& bucket, const std::vector<Highest>& moments, const TimeAxis& time, Emit emit) const;

  const Process& process_;
  const Timeline& timeline_;
  std::vector<int64_t> place_;
  std::vector<Bucket> buckets_;  // by life, then size
  int64_t extent_ = 0, small_from_ = 0;
};

}  // namespace tapelens::picture
