// Converts between times and pixels, from the shown range and the width.
#pragma once

#include <algorithm>
#include <cstdint>

#include "analyzer/model/model.h"

namespace tapelens::picture {

using model::Interval;
using model::Time;

// Shows [begin, end) over `width` columns. Column c covers the times [time_of(c), time_of(c + 1)).
struct TimeAxis {
  TimeAxis(Interval interval, int columns)
      : shown(interval),
        width(columns),
        ns_per_column_(static_cast<double>(interval.end.ns - interval.begin.ns) / columns),
        columns_per_ns_(1 / ns_per_column_) {}

  Interval shown;
  int width;  // in pixels of the device

  double ns_per_pixel() const { return ns_per_column_; }
  double x_of(Time time) const { return static_cast<double>(time.ns - shown.begin.ns) * columns_per_ns_; }
  Time time_of(double x) const { return Time{shown.begin.ns + static_cast<int64_t>(x * ns_per_column_)}; }
  // The column of a time. Below 0 or at least `width` if the time is outside of the picture.
  int column_of(Time time) const {
    if (time < shown.begin) return -1;
    if (time >= shown.end) return width;
    // The begins of columns are rounded, so the estimate is off by at most one.
    const int column = std::min(static_cast<int>(x_of(time)), width - 1);
    if (column > 0 && time < time_of(column)) return column - 1;
    return column + 1 < width && time >= time_of(column + 1) ? column + 1 : column;
  }

 private:
  double ns_per_column_, columns_per_ns_;
};

// The shortest shown range, so that a column is longer than the clock's tick.
inline constexpr int64_t kLeastShown = 20000;  // ns

// Keeps the time under `x` in place. The result stays within [0, whole) and is not shorter than kLeastShown.
Interval zoomed(const TimeAxis& axis, double x, double factor, Time whole);
Interval panned(const TimeAxis& axis, double pixels, Time whole);
// Moves and cuts the range to [0, whole).
Interval inside(Interval shown, Time whole);

// Round times for the labels of an axis, at least `least_apart` pixels apart.
struct Ticks {
  int64_t first = 0, every = 1;  // ns
};
Ticks ticks(const TimeAxis& axis, int least_apart);

}  // namespace tapelens::picture
