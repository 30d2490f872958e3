// See overview.h.
#include "analyzer/report/overview.h"

#include <algorithm>

#include "analyzer/peak/grouping.h"
#include "analyzer/peak/groups.h"

namespace tapelens::report {

namespace {

using model::AllocationId;
using model::Interval;
using model::Process;
using peak::Time;
using peak::Timeline;

// The first events of spans of time of one length.
void add_borders(std::vector<uint32_t>& borders, const Timeline& timeline, Interval when, uint32_t spans) {
  const auto width = static_cast<double>(when.end.ns - when.begin.ns);
  uint32_t event = 0;
  for (uint32_t i = 0; i < spans; ++i) {
    event = timeline.first_at_or_after(Time{when.begin.ns + static_cast<int64_t>(width * i / spans)}, event);
    borders.push_back(event);
  }
}

// Each point is a number of events. A span contributes its minimum and its maximum. Half of the spans have an equal
// number of events. The other half have equal length: one part over the whole run, one part over the selected step.
std::vector<uint32_t> chosen_points(const peak::DeviceAnalysis& device, Time when) {
  const Timeline& timeline = device.timeline();
  const uint32_t events = timeline.events();
  std::vector<uint32_t> points;
  if (events <= kMostPoints) {
    for (uint32_t event = 1; event <= events; ++event) points.push_back(event);
    return points;
  }
  const Time end = device.of().process().duration;
  Interval step = step_at(device.of().steps(), when).when;
  step.end = std::min(step.end, end);
  constexpr uint32_t kSpans = kMostPoints / 2;
  std::vector<uint32_t> borders{events};
  for (uint64_t i = 0; i < kSpans / 2; ++i) borders.push_back(static_cast<uint32_t>(events * i / (kSpans / 2)));
  add_borders(borders, timeline, {Time{0}, end}, kSpans / 4);
  add_borders(borders, timeline, step, kSpans / 4);
  std::ranges::sort(borders);
  borders.erase(std::ranges::unique(borders).begin(), borders.end());
  for (size_t span = 0; span + 1 < borders.size(); ++span) {
    uint32_t least = borders[span], most = least;
    for (uint32_t event = borders[span]; event < borders[span + 1]; ++event) {
      if (timeline.live_after(event) < timeline.live_after(least)) least = event;
      if (timeline.live_after(event) > timeline.live_after(most)) most = event;
    }
    points.push_back(std::min(least, most) + 1);
    if (least != most) points.push_back(std::max(least, most) + 1);
  }
  return points;
}

void add_curve(Overview& out, const peak::DeviceAnalysis& device, const peak::PeakSet& set,
               const std::vector<uint32_t>& points) {
  const Timeline& timeline = device.timeline();
  const peak::Analysis& of = device.of();
  const peak::Grouping grouping = peak::group(of.process(), of.text(), of.steps(), set, peak::By::category);
  out.stacked = grouping.stacked;
  out.events = timeline.events();
  out.pauses = peak::find_pauses(of.process(), device.device());
  Overview::Point running;
  uint32_t event = 0;
  int64_t before = 0;
  for (const uint32_t point : points) {
    for (; event < point; ++event) {
      const int64_t after = timeline.live_after(event).value;
      running.bytes[grouping.of[timeline.allocation_of(event).value]] += after - before;
      before = after;
    }
    running.time = timeline.time_of(point - 1);
    running.number = point;
    out.points.push_back(running);
  }
}

class WhatIfs {
 public:
  WhatIfs(const peak::DeviceAnalysis& device, const peak::PeakSet& set, const std::vector<uint32_t>& points)
      : process_(device.of().process()), replay_(device.replay()), set_(set), points_(points) {
    for (const peak::Member& member : set.members) alive_.push_back(member.allocation.value);
    std::ranges::sort(alive_);
  }

  FixedTimeline without(std::span<const advise::TimelineChange* const> changes) const {
    const peak::Replay::Outcome outcome = advise::without(process_, replay_, changes);
    FixedTimeline out{outcome.peak, outcome.when.time, {}, {}, {}};
    for (const peak::Replay::Outcome::Changed& one : outcome.changed) {
      if (one.end > set_.when.time || !std::ranges::binary_search(alive_, one.allocation.value)) continue;
      out.freed.push_back(one.allocation.value);
      out.freed_bytes += process_.allocations.bytes[one.allocation];
    }
    size_t next = 0;
    int64_t lower = 0;
    for (const uint32_t point : points_) {
      for (; next < outcome.lower.size() && outcome.lower[next].event < point; ++next)
        lower = outcome.lower[next].bytes;
      out.lower.push_back(lower);
    }
    return out;
  }

 private:
  const Process& process_;
  const peak::Replay replay_;
  const peak::PeakSet& set_;
  const std::vector<uint32_t>& points_;
  std::vector<uint32_t> alive_;
};

void add_what_ifs(Overview& out, const WhatIfs& what_ifs, const advise::Advice& advice,
                  std::span<const advise::TimelineChange> changes) {
  using Changes = std::vector<const advise::TimelineChange*>;
  for (size_t i = 0; i < std::min(changes.size(), kMostWhatIfs); ++i) {
    out.findings.push_back(what_ifs.without(Changes{&changes[i]}));
  }
  for (size_t i = 0; i < std::min(advice.entries.size(), kMostWhatIfs); ++i) {
    Changes ticked;
    for (const uint32_t at : advice.entries[i].findings) ticked.push_back(&changes[at]);
    out.entries.push_back(what_ifs.without(ticked));
  }
  Changes all;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (advice.findings[i].is_in_all && !advice.findings[i].is_alternative) all.push_back(&changes[i]);
  }
  if (!all.empty()) out.all = what_ifs.without(all);
}

}  // namespace

Overview describe_overview(const peak::DeviceAnalysis& device, const peak::PeakSet& set, const advise::Advice* advice,
                           std::span<const advise::TimelineChange> changes) {
  Overview out;
  const std::vector<uint32_t> points = chosen_points(device, set.when.time);
  add_curve(out, device, set, points);
  const peak::Analysis& of = device.of();
  out.lines = groups(of.process(), of.text(), of.steps(), set, peak::By::source);
  if (advice != nullptr) add_what_ifs(out, WhatIfs(device, set, points), *advice, changes);
  return out;
}

}  // namespace tapelens::report
