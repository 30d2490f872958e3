// Converts between times and pixels, from the shown range and the width. The only place that does: on an axis whose
// pauses are narrow, and on an axis of events, pixels have different lengths of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/peak/pauses.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::picture {

using model::Interval;
using model::Time;

// Which times are as wide as others.
enum class AxisKind : uint8_t { time, without_pauses, events };

// Lays out a whole recording: each time after so many units, which are all equally wide, and so many pauses, which are
// narrow.
class TimeScale {
 public:
  // A unit is a nanosecond outside of pauses.
  TimeScale(Time whole, peak::Pauses pauses);
  // A unit is an event: the time from it to the next one. The time before the first event is one unit. The timeline
  // must outlive the scale.
  TimeScale(Time whole, const peak::Timeline& events);

  struct Place {
    double units = 0, pauses = 0;
  };
  // Strictly increases with the time.
  Place place_of(Time time) const;
  // The last time whose place is at most `x` pixels from the begin.
  Time time_of(double x, double unit, double pause) const;

  Time whole() const { return whole_; }
  bool counts_events() const { return events_ != nullptr; }
  const peak::Pauses& pauses() const { return pauses_; }
  // The pause at a time; null: none.
  const Interval* pause_at(Time time) const;

 private:
  double units_of_event(int64_t time) const;
  Time time_of_event(double units) const;

  Time whole_;
  peak::Pauses pauses_;
  std::vector<int64_t> units_before_;  // by pause
  int64_t paused_ = 0;                 // ns in all pauses
  const peak::Timeline* events_ = nullptr;
};

// Shows [begin, end) over `width` columns. Column c covers the times [time_of(c), time_of(c + 1)), an empty
// range if the column is shorter than a nanosecond.
class TimeAxis {
 public:
  // Every nanosecond is equally wide.
  TimeAxis(Interval interval, int columns)
      : shown(interval),
        width(columns),
        ns_per_column_(static_cast<double>(interval.end.ns - interval.begin.ns) / columns),
        columns_per_ns_(1 / ns_per_column_) {}
  // `scale`: null, or must outlive the axis. `ratio`: pixels of the device for each pixel of a pause's width.
  TimeAxis(const TimeScale* scale, Interval interval, int columns, double ratio = 1);

  Interval shown;
  int width;  // in pixels of the device

  // Null: every nanosecond is equally wide.
  const TimeScale* scale() const { return scale_; }
  double pixels_per_unit() const { return unit_; }  // needs a scale
  // If all of the range is in one pause, which is not narrow then: the pause. Else null.
  const Interval* around() const { return around_; }
  double ns_per_pixel() const { return ns_per_column_; }  // on average
  double x_of(Time time) const {
    return scale_ == nullptr ? static_cast<double>(time.ns - shown.begin.ns) * columns_per_ns_ : scaled_x_of(time);
  }
  Time time_of(double x) const {
    return scale_ == nullptr ? Time{shown.begin.ns + static_cast<int64_t>(x * ns_per_column_)} : scaled_time_of(x);
  }
  // The column of a time. Below 0 or at least `width` if the time is outside of the picture.
  int column_of(Time time) const {
    if (time < shown.begin) return -1;
    if (time >= shown.end) return width;
    if (scale_ != nullptr) {
      return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end() - 1, time.ns) - begins_.begin()) - 1;
    }
    // The begins of columns are rounded, so the estimate is off by at most one.
    const int column = std::min(static_cast<int>(x_of(time)), width - 1);
    if (column > 0 && time < time_of(column)) return column - 1;
    return column + 1 < width && time >= time_of(column + 1) ? column + 1 : column;
  }
  // The width of an interval in columns. `end` may be kNever.
  double columns_of(Interval interval) const;
  // The ns of the longest of the columns [first, last). Those outside of the picture may be of any length: infinity,
  // unless all columns are equal.
  double longest_column(int first, int last) const;

  friend Interval panned(const TimeAxis& axis, double pixels, Time whole);
  friend Interval zoomed(const TimeAxis& axis, double x, double factor, Time whole);

 private:
  double scaled_x_of(Time time) const;
  Time scaled_time_of(double x) const;
  // Pixels from the begin of the recording, with `unit` pixels for each unit.
  double place(Time time, double unit) const;
  double pause_width(double unit) const;
  // The pixels for each unit with which an interval fills the width. It must not be in one pause.
  double unit_of(Interval interval) const;
  // The range that is shown from a place on, moved to be inside of the recording.
  Interval view(double begin, double unit) const;

  double ns_per_column_, columns_per_ns_;
  // Not for an axis without a scale.
  const TimeScale* scale_ = nullptr;
  double most_pause_ = 0;        // the widest that a pause becomes, in pixels
  double unit_ = 0, begin_ = 0;  // pixels for each unit; those before the picture
  std::vector<int64_t> begins_;  // each column's begin, and the end of the last
  const Interval* around_ = nullptr;
};

// The shortest shown range, so that a column is longer than the clock's tick.
inline constexpr int64_t kLeastShown = 20000;  // ns

// Keeps the time under `x` in place. The result stays within [0, whole) and is not shorter than kLeastShown.
Interval zoomed(const TimeAxis& axis, double x, double factor, Time whole);
Interval panned(const TimeAxis& axis, double pixels, Time whole);
// Moves and cuts the range to [0, whole).
Interval inside(Interval shown, Time whole);
// The interval with `share` of its width more on each side, inside of [0, whole).
Interval with_room(const TimeScale* scale, Interval interval, double share, Time whole);
// The shown range, moved so that the time is in its middle.
Interval centered(const TimeScale* scale, Interval shown, Time time, Time whole);

// Labels of an axis, at round numbers, at least `least_apart` pixels apart.
struct Ticks {
  int64_t every = 1;  // the distance of the numbers
  struct Tick {
    double x;
    int64_t number;  // ns or, on an axis of events, the event's number from 1
  };
  std::vector<Tick> all;
};
Ticks ticks(const TimeAxis& axis, int least_apart);

// The pauses of an axis that are visible, with their columns, at least one each.
struct Break {
  Interval pause;
  int x0, x1;  // half open
};
std::vector<Break> breaks(const TimeAxis& axis);
// For a label: the first part of the columns [x0, x1) without a break that is at least `least` wide. All of the columns
// if there is none.
std::pair<int, int> between_breaks(std::span<const Break> all, int x0, int x1, int least);

}  // namespace tapelens::picture
