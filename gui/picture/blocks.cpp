#include "gui/picture/blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "gui/picture/packing.h"

namespace tapelens::picture {

namespace {

// Lifetimes and sizes in powers of four.
int power(uint64_t value) { return value == 0 ? 0 : (std::bit_width(value) - 1) / 2; }
// The least value of a power.
int64_t least(int power) { return power == 0 ? 0 : int64_t{1} << (2 * std::min(power, 30)); }
// The first value above a power: 4^(power+1); for the highest power a value above all others.
int64_t beyond(int power) { return power >= 30 ? INT64_MAX / 2 : int64_t{1} << (2 * power + 2); }

int64_t life_of(const Process& p, uint32_t id) {
  const uint32_t free = p.allocations.free.raw[id];
  if (free == 0) return INT64_MAX / 4;
  return static_cast<int64_t>(p.frees.time.raw[free] - p.allocations.time.raw[id]);
}

// The parts of the picture in which a block that lives for less than `longest` may be a pixel wide: such a block has a
// part in a column that is shorter than its life, or outside of the picture.
std::vector<Interval> parts_for(const TimeAxis& time, double longest) {
  if (time.scale() == nullptr) {
    return longest > time.ns_per_pixel() ? std::vector<Interval>{time.shown} : std::vector<Interval>{};
  }
  std::vector<Interval> parts;
  for (int c = 0; c < time.width; ++c) {
    if (c > 0 && c + 1 < time.width && time.longest_column(c, c + 1) >= longest) continue;
    const Interval column{time.time_of(c), time.time_of(c + 1)};
    if (!parts.empty() && parts.back().end == column.begin) {
      parts.back().end = column.end;
    } else {
      parts.push_back(column);
    }
  }
  return parts;
}

}  // namespace

Blocks::Blocks(const Process& process, const Timeline& timeline, Bytes peak) : process_(process), timeline_(timeline) {
  const Allocations& a = process.allocations;
  place_.assign(size_t{a.rows()} + 1, -1);
  // Allocations that live for half of the recording are at the bottom, small ones at the top.
  enum : uint8_t { kLongLived, kShortLived, kSmall };
  std::array<Arena, 3> arenas;
  std::vector<uint8_t> arena(place_.size(), kShortLived);
  const int64_t small = std::max<int64_t>(1, peak.value / kSmallShare);
  std::map<std::tuple<int, int, bool>, std::vector<uint32_t>> buckets;
  for (uint32_t event = 0; event < timeline.events(); ++event) {
    const uint32_t id = timeline.allocation_of(event).value;
    const auto bytes = static_cast<int64_t>(a.bytes.raw[id]);
    if (place_[id] >= 0) {
      arenas[arena[id]].give(place_[id], bytes);
      continue;
    }
    const int64_t life = life_of(process, id);
    arena[id] = bytes < small ? kSmall : life >= process.duration.ns / 2 ? kLongLived : kShortLived;
    place_[id] = arenas[arena[id]].take(bytes);
    const bool is_low = arena[id] == kSmall;
    buckets[{power(static_cast<uint64_t>(life)), power(static_cast<uint64_t>(bytes)), is_low}].push_back(id);
  }
  const int64_t above_long = arenas[kLongLived].extent();
  small_from_ = above_long + arenas[kShortLived].extent();
  extent_ = small_from_ + arenas[kSmall].extent();
  for (uint32_t id = 1; id <= a.rows(); ++id) {
    if (place_[id] >= 0)
      place_[id] += arena[id] == kLongLived ? 0 : arena[id] == kShortLived ? above_long : small_from_;
  }
  for (const auto& [kind, allocations] : buckets) {
    Bucket bucket{std::get<0>(kind), std::get<1>(kind), std::get<2>(kind), {}, {}};
    bucket.begin.reserve(allocations.size());
    bucket.entries.reserve(allocations.size());
    for (const uint32_t id : allocations) {
      bucket.begin.push_back(static_cast<int64_t>(a.time.raw[id]));
      bucket.entries.push_back(
          {process.freed(AllocationId{id}).ns, place_[id], static_cast<int64_t>(a.bytes.raw[id]), id});
    }
    buckets_.push_back(std::move(bucket));
  }
}

AllocationId Blocks::at(Time time, int64_t byte) const {
  for (const Bucket& bucket : buckets_) {
    size_t i = bucket.begin.after(time.ns);
    while (i-- > 0 && time.ns - bucket.begin[i] < beyond(bucket.life)) {
      const Entry& entry = bucket.entries[i];
      if (entry.place <= byte && byte < entry.place + entry.bytes && entry.end > time.ns) {
        return AllocationId{entry.allocation};
      }
    }
  }
  return {};
}

void Blocks::visit(const TimeAxis& time, const ByteAxis& bytes, const std::vector<PixelColumn>& columns,
                   const std::function<void(const Rectangle&)>& visit) const {
  const double bytes_per_pixel = bytes.bytes_per_pixel();
  const double longest_column = time.longest_column(-1, time.width + 1);
  const double pixels_per_byte = 1 / bytes_per_pixel;
  const auto emit = [&](const Entry& entry, int x0, int x1) {
    if (entry.place >= bytes.end || entry.place + entry.bytes <= bytes.begin) return;
    if (entry.place >= small_from_ && static_cast<double>(entry.bytes) < bytes_per_pixel) return;
    // Rounds to the nearest pixel, not outwards: neighbors share an edge and never overlap.
    const auto y_of = [&](int64_t byte) {
      const double y = static_cast<double>(bytes.end - byte) * pixels_per_byte;
      return static_cast<int>(std::clamp(y, -1.0, bytes.height + 1.0) + 1.5) - 1;
    };
    const int y0 = y_of(entry.place + entry.bytes), y1 = y_of(entry.place);
    visit({AllocationId{entry.allocation}, x0, x1, std::min(y0, y1 - 1), y1});
  };
  std::vector<Highest> moments;
  std::vector<Interval> parts;  // for one life of buckets
  int parts_of = -1;
  for (const Bucket& bucket : buckets_) {
    // All blocks in this bucket are too low to be visible.
    if (bucket.is_small && static_cast<double>(beyond(bucket.size)) < bytes_per_pixel) continue;
    const auto longest = static_cast<double>(beyond(bucket.life));
    if (bucket.life != parts_of) parts = parts_for(time, longest);
    parts_of = bucket.life;
    visit_wide(bucket, time, parts, emit);
    if (bucket.life > 0 && static_cast<double>(least(bucket.life)) >= longest_column) continue;
    if (moments.empty()) {
      for (size_t c = 0; c < columns.size(); c += kShort) {
        const size_t last = std::min(columns.size(), c + kShort);
        const PixelColumn& most =
            *std::max_element(columns.begin() + static_cast<int64_t>(c), columns.begin() + static_cast<int64_t>(last),
                              [](const PixelColumn& x, const PixelColumn& y) { return x.most < y.most; });
        const int first = static_cast<int>(c);
        moments.push_back(
            {timeline_.moment_after_first(most.events), time.longest_column(first - 1, static_cast<int>(last) + 1)});
      }
    }
    visit_narrow(bucket, moments, time, emit);
  }
}

template <class Emit>
void Blocks::visit_wide(const Bucket& bucket, const TimeAxis& time, const std::vector<Interval>& parts,
                        Emit emit) const {
  const int64_t longest = beyond(bucket.life);
  size_t i = 0;
  const auto visit = [&](Interval within) {
    const int64_t since = within.begin.ns > longest ? within.begin.ns - longest : 0;
    i = bucket.begin.at_or_after(since, i);
    for (; i < bucket.begin.size() && bucket.begin[i] < within.end.ns; ++i) {
      const Entry& entry = bucket.entries[i];
      if (entry.end <= time.shown.begin.ns) continue;
      if (time.columns_of({Time{bucket.begin[i]}, Time{entry.end}}) < 1) continue;
      const int x0 = std::max(0, time.column_of(Time{bucket.begin[i]}));
      const int x1 = entry.end >= time.shown.end.ns ? time.width : time.column_of(Time{entry.end}) + 1;
      emit(entry, x0, std::min(time.width, x1));
    }
  };
  for (const Interval& part : parts) visit(part);
}

template <class Emit>
void Blocks::visit_narrow(const Bucket& bucket, const std::vector<Highest>& moments, const TimeAxis& time,
                          Emit emit) const {
  const int64_t longest = beyond(bucket.life);
  const auto shortest = static_cast<double>(least(bucket.life));
  const SortedTimes& begin = bucket.begin;
  size_t from = 0;
  for (size_t c = 0; c < moments.size(); ++c) {
    const peak::Moment& moment = moments[c].moment;
    // A block of less than a pixel is shorter than one of the columns around it.
    if (bucket.life > 0 && shortest >= moments[c].longest_column) continue;
    // Allocations born in the last `longest`.
    from = begin.after(moment.time.ns - longest, from);
    for (size_t i = from; i < begin.size() && begin[i] <= moment.time.ns; ++i) {
      const Entry& entry = bucket.entries[i];
      if (entry.end < moment.time.ns || time.columns_of({Time{begin[i]}, Time{entry.end}}) >= 1) continue;
      // Several events may have the same nanosecond; the moment knows which of them precede it.
      const bool is_close = entry.end == moment.time.ns || begin[i] == moment.time.ns;
      if (is_close && !moment.holds(process_, AllocationId{entry.allocation})) continue;
      const int column = static_cast<int>(c * kShort);
      emit(entry, column, column + static_cast<int>(kShort));
    }
  }
}

}  // namespace tapelens::picture
