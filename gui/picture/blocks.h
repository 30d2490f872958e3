// Allocations as rectangles: wide as their life, high as their bytes, at a place that is found when they are born and
// kept till they are gone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/model/sorted_times.h"
#include "analyzer/peak/timeline.h"
#include "gui/picture/axis.h"
#include "gui/picture/curve.h"

namespace tapelens::picture {

// Which bytes are shown, from below.
struct ByteAxis {
  int64_t begin = 0, end = 1;
  int height = 1;  // in pixels of the device

  double bytes_per_pixel() const { return static_cast<double>(end - begin) / height; }
  // From above, as pixels are counted.
  double y_of(int64_t byte) const {
    return static_cast<double>(end - byte) * height / static_cast<double>(end - begin);
  }
  int64_t byte_of(double y) const { return end - static_cast<int64_t>(y * bytes_per_pixel()); }
};

class Blocks {
 public:
  Blocks(const Process& process, const Timeline& timeline, Bytes peak);

  // Where an allocation lies; of another device's, or of foreign memory: -1.
  int64_t place(AllocationId allocation) const { return place_[allocation.value]; }
  int64_t extent() const { return extent_; }  // above all of them
  // The allocation that lies there at a time; none: nothing does.
  AllocationId at(Time time, int64_t byte) const;

  // In pixels of the canvas; wide and high at least one.
  struct Rectangle {
    AllocationId allocation;
    int x0, x1, y0, y1;  // half open
  };
  // Calls `visit` for every block whose life is a pixel or more, and, kShort pixels wide, for every shorter one that is
  // alive at the moment that the highest of so many columns shows. Those lower than a pixel are left out if they are
  // small (is_small), else shown one pixel high. The cost depends on the pixels.
  static constexpr size_t kShort = 3;
  void visit(const TimeAxis& time, const ByteAxis& bytes, const std::vector<Column>& columns,
             const std::function<void(const Rectangle&)>& visit) const;

  // Less than this share of the peak is small: a thousand lines are no picture.
  static constexpr int64_t kSmallShare = 1024;
  // Small ones lie above all others, from here on: no picture of the whole shows them one by one.
  int64_t small_from() const { return small_from_; }
  bool has_small() const { return extent_ > small_from_; }
  // What a picture of the whole shows, from 0 up: all but the small ones, unless there are no others.
  int64_t shown() const { return small_from_ > 0 ? small_from_ : extent_; }
  bool is_small(AllocationId allocation) const { return place_[allocation.value] >= small_from_; }

 private:
  // What a picture needs of an allocation, on one cache line.
  struct Entry {
    int64_t end;  // kNever: it was not freed
    int64_t place, bytes;
    uint32_t allocation;
  };
  // Of lives of [4^i, 4^(i+1)) ns and [4^j, 4^(j+1)) bytes, in the order of birth.
  struct Bucket {
    int life, size;
    bool is_small;
    SortedTimes begin;  // of the lives
    std::vector<Entry> entries;
  };
  template <class Emit>
  void visit_wide(const Bucket& bucket, const TimeAxis& time, Emit emit) const;
  template <class Emit>
  void visit_narrow(const Bucket& bucket, const std::vector<peak::Moment>& moments, double ns_per_pixel,
                    Emit emit) const;

  const Process& process_;
  const Timeline& timeline_;
  std::vector<int64_t> place_;
  std::vector<Bucket> buckets_;  // by life, then size
  int64_t extent_ = 0, small_from_ = 0;
};

}  // namespace tapelens::picture
