#include "gui/picture/axis.h"

#include <cmath>
#include <limits>
#include <utility>

namespace tapelens::picture {

namespace {

constexpr double kPauseWidth = 28;   // the widest that a pause becomes, in pixels
constexpr double kLeastEvents = 4;   // the least number of events in a view
constexpr int kNominalWidth = 1000;  // for shares of a width, which do not depend on it

int64_t length_of(Interval interval) { return interval.end.ns - interval.begin.ns; }

}  // namespace

// ---- the scale

TimeScale::TimeScale(Time whole, peak::Pauses pauses) : whole_(whole), pauses_(std::move(pauses)) {
  for (const Interval& pause : pauses_.all) {
    units_before_.push_back(pause.begin.ns - paused_);
    paused_ += length_of(pause);
  }
}

TimeScale::TimeScale(Time whole, const peak::Timeline& events) : whole_(whole), events_(&events) {}

TimeScale::Place TimeScale::place_of(Time time) const {
  if (events_ != nullptr) return {units_of_event(time.ns), 0};
  const auto after = std::ranges::upper_bound(pauses_.all, time, {}, &Interval::begin);
  const auto begun = after - pauses_.all.begin();
  if (begun == 0) return {static_cast<double>(time.ns), 0};
  const Interval& last = *(after - 1);
  const double before = static_cast<double>(units_before_[static_cast<size_t>(begun - 1)]);
  if (time >= last.end) return {before + static_cast<double>(time.ns - last.end.ns), static_cast<double>(begun)};
  const double part = static_cast<double>(time.ns - last.begin.ns) / static_cast<double>(length_of(last));
  return {before, static_cast<double>(begun - 1) + part};
}

Time TimeScale::time_of(double x, double unit, double pause) const {
  if (events_ != nullptr) return time_of_event(x / unit);
  const auto place = [&](int64_t i) {
    return static_cast<double>(units_before_[static_cast<size_t>(i)]) * unit + static_cast<double>(i) * pause;
  };
  int64_t first = 0, last = static_cast<int64_t>(pauses_.all.size());  // the number of pauses that begin at or before x
  while (first < last) {
    const int64_t middle = (first + last) / 2;
    if (place(middle) <= x) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == 0) return Time{static_cast<int64_t>(std::floor(x / unit))};
  const Interval& before = pauses_.all[static_cast<size_t>(first - 1)];
  const double behind = x - place(first - 1);
  if (behind < pause) {
    return Time{before.begin.ns + static_cast<int64_t>(behind / pause * static_cast<double>(length_of(before)))};
  }
  return Time{before.end.ns + static_cast<int64_t>((behind - pause) / unit)};
}

const Interval* TimeScale::pause_at(Time time) const {
  const auto after = std::ranges::upper_bound(pauses_.all, time, {}, &Interval::begin);
  return after == pauses_.all.begin() || !(after - 1)->contains(time) ? nullptr : &*(after - 1);
}

// Events of one nanosecond share the time up to the next event.
double TimeScale::units_of_event(int64_t time) const {
  const peak::Timeline& all = *events_;
  const uint32_t before = all.first_at_or_after(Time{time});
  if (before == 0) {
    const int64_t first = all.events() == 0 ? whole_.ns : all.time_of(0).ns;
    return first <= 0 ? 1 : static_cast<double>(time) / static_cast<double>(first);
  }
  const int64_t begin = all.time_of(before - 1).ns;
  const uint32_t first = all.first_at_or_after(Time{begin});
  const int64_t end = before < all.events() ? all.time_of(before).ns : std::max(whole_.ns, begin + 1);
  const double part = static_cast<double>(time - begin) / static_cast<double>(end - begin);
  return 1 + first + part * (before - first);
}

Time TimeScale::time_of_event(double units) const {
  const peak::Timeline& all = *events_;
  if (all.events() == 0) return Time{static_cast<int64_t>(std::floor(units * static_cast<double>(whole_.ns)))};
  if (units < 1) return Time{static_cast<int64_t>(std::floor(units * static_cast<double>(all.time_of(0).ns)))};
  const auto event = static_cast<uint32_t>(std::min(units - 1, static_cast<double>(all.events() - 1)));
  const int64_t begin = all.time_of(event).ns;
  const uint32_t first = all.first_at_or_after(Time{begin}), behind = all.first_at_or_after(Time{begin + 1}, event);
  const int64_t end = behind < all.events() ? all.time_of(behind).ns : std::max(whole_.ns, begin + 1);
  const double part = (units - 1 - first) / (behind - first);
  return Time{begin + static_cast<int64_t>(part * static_cast<double>(end - begin))};
}

// ---- the axis

TimeAxis::TimeAxis(const TimeScale* scale, Interval interval, int columns, double ratio) : TimeAxis(interval, columns) {
  if (scale == nullptr || (!scale->counts_events() && scale->pauses().all.empty())) return;
  if (const Interval* pause = scale->pause_at(shown.begin); pause != nullptr && shown.end <= pause->end) {
    around_ = pause;
    return;
  }
  scale_ = scale;
  most_pause_ = kPauseWidth * ratio;
  unit_ = unit_of(shown);
  begin_ = place(shown.begin, unit_);
  begins_.reserve(static_cast<size_t>(width) + 1);
  begins_.push_back(shown.begin.ns);
  for (int c = 1; c < width; ++c) {
    const int64_t begin = scale_->time_of(begin_ + c, unit_, pause_width(unit_)).ns;
    begins_.push_back(std::clamp(begin, begins_.back(), shown.end.ns));
  }
  begins_.push_back(shown.end.ns);
}

// A pause keeps its share of a picture that becomes wider, up to a limit. This depends on the unit alone, so that a
// zoom can keep a place.
double TimeAxis::pause_width(double unit) const { return std::min(most_pause_, unit * scale_->pauses().narrow); }

double TimeAxis::place(Time time, double unit) const {
  const TimeScale::Place at = scale_->place_of(time);
  return at.units * unit + at.pauses * pause_width(unit);
}

double TimeAxis::unit_of(Interval interval) const {
  const TimeScale::Place begin = scale_->place_of(interval.begin), end = scale_->place_of(interval.end);
  const double units = end.units - begin.units, pauses = end.pauses - begin.pauses;
  const double unit = width / (units + pauses * scale_->pauses().narrow);
  return unit * scale_->pauses().narrow <= most_pause_ ? unit : (width - pauses * most_pause_) / units;
}

double TimeAxis::scaled_x_of(Time time) const {
  if (time < shown.begin || time >= shown.end) return place(time, unit_) - begin_;
  const auto column = static_cast<size_t>(column_of(time));
  const int64_t begin = begins_[column], length = begins_[column + 1] - begin;
  return static_cast<double>(column) + static_cast<double>(time.ns - begin) / static_cast<double>(length);
}

Time TimeAxis::scaled_time_of(double x) const {
  if (x < 0 || x > width) return scale_->time_of(begin_ + x, unit_, pause_width(unit_));
  const auto column = std::min(static_cast<size_t>(x), static_cast<size_t>(width) - 1);
  const int64_t begin = begins_[column];
  const double part = x - static_cast<double>(column);
  return Time{begin + static_cast<int64_t>(part * static_cast<double>(begins_[column + 1] - begin))};
}

double TimeAxis::columns_of(Interval interval) const {
  if (scale_ == nullptr) {
    return (static_cast<double>(interval.end.ns) - static_cast<double>(interval.begin.ns)) * columns_per_ns_;
  }
  if (interval.end == model::kNever) return width;
  return scaled_x_of(interval.end) - scaled_x_of(interval.begin);
}

double TimeAxis::longest_column(int first, int last) const {
  if (scale_ == nullptr) return ns_per_column_;
  if (first < 0 || last > width) return std::numeric_limits<double>::infinity();
  int64_t longest = 0;
  for (int c = first; c < last; ++c) {
    const auto column = static_cast<size_t>(c);
    longest = std::max(longest, begins_[column + 1] - begins_[column]);
  }
  return static_cast<double>(longest);
}

Interval TimeAxis::view(double begin, double unit) const {
  const double end = place(scale_->whole(), unit);
  begin = std::clamp(begin, 0.0, std::max(0.0, end - width));
  const auto time_at = [&](double x) { return scale_->time_of(x, unit, pause_width(unit)); };
  return {time_at(begin), begin + width >= end ? scale_->whole() : time_at(begin + width)};
}

// ---- views

Interval inside(Interval shown, Time whole) {
  const int64_t most = std::max(whole.ns, kLeastShown);
  const int64_t length = std::clamp(shown.end.ns - shown.begin.ns, kLeastShown, most);
  const int64_t begin = std::clamp(shown.begin.ns, int64_t{0}, most - length);
  return {Time{begin}, Time{begin + length}};
}

Interval zoomed(const TimeAxis& axis, double x, double factor, Time whole) {
  if (const TimeScale* scale = axis.scale_) {
    const double least = axis.unit_of({Time{0}, scale->whole()});
    const double most = axis.width / (scale->counts_events() ? kLeastEvents : static_cast<double>(kLeastShown));
    const double unit = std::clamp(axis.unit_ * factor, least, std::max(least, most));
    const Time at = axis.time_of(x);
    const Interval view = axis.view(axis.place(at, unit) - x, unit);
    if (length_of(view) >= kLeastShown) return inside(view, whole);
    const Time begin{at.ns - std::llround(static_cast<double>(kLeastShown) * x / axis.width)};
    return inside({begin, Time{begin.ns + kLeastShown}}, whole);
  }
  const double length = static_cast<double>(axis.shown.end.ns - axis.shown.begin.ns);
  const double wanted = std::clamp(length / factor, static_cast<double>(kLeastShown),
                                   static_cast<double>(std::max(whole.ns, kLeastShown)));
  // Outside of its pause, the range would be scaled otherwise.
  if (axis.around_ != nullptr && wanted > static_cast<double>(length_of(*axis.around_))) return {Time{0}, whole};
  const double at = static_cast<double>(axis.shown.begin.ns) + length * x / axis.width;
  const auto begin = std::llround(at - wanted * x / axis.width);
  return inside({Time{begin}, Time{begin + std::llround(wanted)}}, whole);
}

Interval panned(const TimeAxis& axis, double pixels, Time whole) {
  if (axis.scale_ != nullptr) return inside(axis.view(axis.begin_ + pixels, axis.unit_), whole);
  const auto by = std::llround(pixels * axis.ns_per_pixel());
  return inside({Time{axis.shown.begin.ns + by}, Time{axis.shown.end.ns + by}}, whole);
}

Interval with_room(const TimeScale* scale, Interval interval, double share, Time whole) {
  const TimeAxis axis(scale, interval, kNominalWidth);
  const double room = share * kNominalWidth;
  const Time begin = axis.time_of(-room), end = axis.time_of(kNominalWidth + room);
  return inside({Time{std::max<int64_t>(begin.ns - 1, 0)}, Time{std::min(end.ns + 1, whole.ns)}}, whole);
}

Interval centered(const TimeScale* scale, Interval shown, Time time, Time whole) {
  const TimeAxis axis(scale, shown, kNominalWidth);
  return panned(axis, axis.x_of(time) - kNominalWidth / 2.0, whole);
}

// ---- marks

namespace {

// 1, 2 or 5 times a power of ten.
int64_t round_distance(double least) {
  int64_t every = 1;
  for (int64_t ten = 1; static_cast<double>(every) < least; ten *= 10) {
    for (const int64_t part : {1, 2, 5, 10}) {
      every = ten * part;
      if (static_cast<double>(every) >= least) break;
    }
  }
  return every;
}

int64_t next_multiple(int64_t number, int64_t every) { return (number + every - 1) / every * every; }

}  // namespace

Ticks ticks(const TimeAxis& axis, int least_apart) {
  const double least = std::max(1, least_apart);
  const TimeScale* scale = axis.scale();
  Ticks out;
  if (scale == nullptr) {
    out.every = round_distance(least * axis.ns_per_pixel());
    for (int64_t at = next_multiple(axis.shown.begin.ns, out.every); at < axis.shown.end.ns; at += out.every)
      out.all.push_back({axis.x_of(Time{at}), at});
    return out;
  }
  out.every = round_distance(least / axis.pixels_per_unit());
  if (scale->counts_events()) {
    // The first unit is the time before the first event.
    const double begin = scale->place_of(axis.shown.begin).units, end = scale->place_of(axis.shown.end).units;
    for (int64_t at = std::max(out.every, next_multiple(std::llround(std::ceil(begin)), out.every));
         static_cast<double>(at) < end; at += out.every)
      out.all.push_back({(static_cast<double>(at) - begin) * axis.pixels_per_unit(), at});
    return out;
  }
  for (int64_t at = next_multiple(axis.shown.begin.ns, out.every); at < axis.shown.end.ns; at += out.every) {
    if (const Interval* pause = scale->pause_at(Time{at})) {
      at = next_multiple(pause->end.ns, out.every);
      if (at >= axis.shown.end.ns) break;
      if (scale->pause_at(Time{at}) != nullptr) {
        at -= out.every;
        continue;
      }
    }
    const double x = axis.x_of(Time{at});
    if (out.all.empty() || x - out.all.back().x >= least) out.all.push_back({x, at});
  }
  return out;
}

std::vector<Break> breaks(const TimeAxis& axis) {
  std::vector<Break> out;
  if (axis.around() != nullptr) out.push_back({*axis.around(), 0, axis.width});
  if (axis.scale() == nullptr) return out;
  const auto& all = axis.scale()->pauses().all;
  for (auto pause = std::ranges::upper_bound(all, axis.shown.begin, {}, &Interval::end);
       pause != all.end() && pause->begin < axis.shown.end; ++pause) {
    const int x0 = std::max(0, axis.column_of(pause->begin));
    out.push_back({*pause, x0, std::clamp(axis.column_of(pause->end), x0 + 1, axis.width)});
  }
  return out;
}

std::pair<int, int> between_breaks(std::span<const Break> all, int x0, int x1, int least) {
  int begin = x0, end = x1;
  for (const Break& one : all) {
    if (one.x1 <= begin) continue;
    end = std::min(one.x0, x1);
    if (one.x0 >= x1 || end - begin >= least) break;
    begin = one.x1;
    end = x1;
  }
  return end - begin >= least ? std::pair(begin, end) : std::pair(x0, x1);
}

}  // namespace tapelens::picture
