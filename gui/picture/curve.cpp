#include "gui/picture/curve.h"

#include <algorithm>

namespace tapelens::picture {

Curve::Curve(const Timeline& timeline, Grouping grouping) : timeline_(timeline), grouping_(std::move(grouping)) {
  std::array<int64_t, Grouping::kGroups> sum{};
  sums_.reserve(timeline.events() / Timeline::kBlock + 1);
  group_.reserve(timeline.events());
  int64_t before = 0;
  for (uint32_t event = 0; event < timeline.events(); ++event) {
    if (event % Timeline::kBlock == 0) sums_.push_back(sum);
    const int64_t after = timeline.live_after(event).value;
    group_.push_back(grouping_.of[timeline.allocation_of(event).value]);
    int64_t& mine = sum[group_.back()];
    mine += after - before;
    most_[group_.back()] = std::max(most_[group_.back()], mine);
    before = after;
  }
  if (timeline.events() % Timeline::kBlock == 0) sums_.push_back(sum);
}

std::array<int64_t, Grouping::kGroups> Curve::bytes_after(uint32_t events) const {
  uint32_t event = events / Timeline::kBlock * Timeline::kBlock;
  std::array<int64_t, Grouping::kGroups> sum = sums_[events / Timeline::kBlock];
  int64_t before = timeline_.live_after_first(event).value;
  for (; event < events; ++event) {
    const int64_t after = timeline_.live_after(event).value;
    sum[group_[event]] += after - before;
    before = after;
  }
  return sum;
}

void Curve::columns(const TimeAxis& axis, std::vector<PixelColumn>& out) const {
  out.resize(static_cast<size_t>(axis.width));
  uint32_t first = timeline_.first_at_or_after(axis.time_of(0));
  uint32_t shown = UINT32_MAX;  // events that the previous column shows
  for (int c = 0; c < axis.width; ++c) {
    const uint32_t last = std::max(first, timeline_.first_at_or_after(axis.time_of(c + 1), first));
    PixelColumn& column = out[static_cast<size_t>(c)];
    column.events = timeline_.most_after(first, last);
    column.most = timeline_.live_after_first(column.events);
    column.bytes = column.events == shown ? out[static_cast<size_t>(c) - 1].bytes : bytes_after(column.events);
    shown = column.events;
    first = last;
  }
}

void most_columns(const Timeline& timeline, const TimeAxis& axis, std::vector<Bytes>& out) {
  out.resize(static_cast<size_t>(axis.width));
  uint32_t first = timeline.first_at_or_after(axis.time_of(0));
  for (int c = 0; c < axis.width; ++c) {
    const uint32_t last = std::max(first, timeline.first_at_or_after(axis.time_of(c + 1), first));
    out[static_cast<size_t>(c)] = timeline.live_after_first(timeline.most_after(first, last));
    first = last;
  }
}

namespace {

// The change of the selected allocations' bytes by an event.
int64_t change_of(const Timeline& timeline, const std::vector<uint8_t>& is_of_it, uint32_t event) {
  if (is_of_it[timeline.allocation_of(event).value] == 0) return 0;
  return timeline.live_after(event).value - timeline.live_after_first(event).value;
}

}  // namespace

Portion::Portion(const Timeline& timeline, const std::vector<uint8_t>& is_of_it) {
  int64_t sum = 0;
  for (uint32_t event = 0; event < timeline.events(); ++event) {
    if (event % Timeline::kBlock == 0) blocks_.push_back({sum, INT64_MIN});
    sum += change_of(timeline, is_of_it, event);
    blocks_.back().most = std::max(blocks_.back().most, sum);
    if (sum <= most_.value) continue;
    most_.value = sum;
    when_ = timeline.time_of(event);
  }
}

void Portion::columns(const Timeline& timeline, const std::vector<uint8_t>& is_of_it, const TimeAxis& axis,
                      std::vector<Bytes>& out) const {
  out.resize(static_cast<size_t>(axis.width));
  uint32_t event = 0;
  int64_t sum = 0;  // after the previous events
  const auto go_to = [&](uint32_t wanted, int64_t& most) {
    while (event < wanted) {
      if (event % Timeline::kBlock == 0 && wanted - event >= Timeline::kBlock) {
        const uint32_t block = event / Timeline::kBlock;
        most = std::max(most, blocks_[block].most);
        event += Timeline::kBlock;
        if (block + 1 < blocks_.size()) {
          sum = blocks_[block + 1].before;
          continue;
        }
        sum = blocks_[block].before;
        for (uint32_t i = block * Timeline::kBlock; i < event; ++i) sum += change_of(timeline, is_of_it, i);
        continue;
      }
      sum += change_of(timeline, is_of_it, event++);
      most = std::max(most, sum);
    }
  };
  const uint32_t first = timeline.first_at_or_after(axis.time_of(0));
  if (!blocks_.empty()) {
    event = std::min<uint32_t>(first / Timeline::kBlock, static_cast<uint32_t>(blocks_.size()) - 1) * Timeline::kBlock;
    sum = blocks_[event / Timeline::kBlock].before;
  }
  int64_t before = 0;
  go_to(first, before);
  for (int c = 0; c < axis.width; ++c) {
    int64_t most = sum;  // bytes that were alive when the column began
    go_to(std::max(event, timeline.first_at_or_after(axis.time_of(c + 1), event)), most);
    out[static_cast<size_t>(c)] = Bytes{most};
  }
}

Lowered::Lowered(const Timeline& timeline, std::vector<peak::Replay::Outcome::Lower> lower) : lower_(std::move(lower)) {
  const uint32_t events = timeline.events();
  uint32_t next = 0;
  for (uint32_t begin = 0; begin < events; begin += Timeline::kBlock) {
    begin_.push_back(next);
    const uint32_t end = std::min(events, begin + Timeline::kBlock);
    const int64_t by = next == 0 ? 0 : lower_[next - 1].bytes;
    const bool is_even = next == lower_.size() || lower_[next].event >= end;
    most_.push_back(is_even ? timeline.most_of_block(begin / Timeline::kBlock).value - by
                            : most_in(timeline, begin, end));
    while (next < lower_.size() && lower_[next].event < end) ++next;
  }
}

int64_t Lowered::most_in(const Timeline& timeline, uint32_t first, uint32_t last) const {
  size_t next = begin_[first / Timeline::kBlock];
  int64_t by = next == 0 ? 0 : lower_[next - 1].bytes, most = INT64_MIN;
  for (uint32_t event = first; event < last; ++event) {
    while (next < lower_.size() && lower_[next].event <= event) by = lower_[next++].bytes;
    most = std::max(most, timeline.live_after(event).value - by);
  }
  return most;
}

void Lowered::columns(const Timeline& timeline, const TimeAxis& axis, std::vector<Bytes>& out) const {
  out.resize(static_cast<size_t>(axis.width));
  uint32_t first = timeline.first_at_or_after(axis.time_of(0));
  for (int c = 0; c < axis.width; ++c) {
    const uint32_t last = std::max(first, timeline.first_at_or_after(axis.time_of(c + 1), first));
    int64_t most = first == 0 ? 0 : most_in(timeline, first - 1, first);
    for (uint32_t event = first; event < last;) {
      const uint32_t end = std::min(last, (event / Timeline::kBlock + 1) * Timeline::kBlock);
      const bool is_whole = end - event == Timeline::kBlock;
      most = std::max(most, is_whole ? most_[event / Timeline::kBlock] : most_in(timeline, event, end));
      event = end;
    }
    out[static_cast<size_t>(c)] = Bytes{most};
    first = last;
  }
}

}  // namespace tapelens::picture
