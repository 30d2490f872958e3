// Random processes, compared with an oracle that recomputes everything at each event.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "analyzer/model/steps.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/timeline.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

using testing::kCpu;
using testing::kCuda;
using testing::ProcessBuilder;

struct Event {
  int64_t time;
  uint32_t allocation;
  bool is_free;
};

struct Random {
  ProcessBuilder builder;
  std::vector<Event> events;  // in order, times strictly growing
};

Random make(uint32_t seed) {
  Random r;
  std::mt19937 random(seed);
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::vector<AllocationId> live;
  int64_t now = 1;
  const int count = 50 + upto(1500);
  for (int i = 0; i < count; ++i) {
    now += 1 + upto(3);
    // The live bytes grow and shrink in waves, so that the peak is in the middle of the recording.
    const bool grow = upto(100) < ((i / 100) % 2 == 0 ? 70 : 35);
    if (grow || live.empty()) {
      const Origin origin = upto(20) == 0 ? Origin::foreign : Origin::allocator;
      const AllocationId id =
          r.builder.allocate(now, upto(2) == 0 ? upto(64) : upto(100000), {}, upto(4) == 0 ? kCuda : kCpu, {}, origin);
      live.push_back(id);
      r.events.push_back({now, id.value, false});
    } else {
      std::swap(live[static_cast<size_t>(upto(static_cast<int>(live.size())))], live.back());
      r.builder.free(now, live.back());
      r.events.push_back({now, live.back().value, true});
      live.pop_back();
    }
  }
  const NodeId node = r.builder.node(1, "MulBackward0");
  for (uint32_t id = 1; id <= r.builder.process.allocations.rows(); ++id) {
    if (id % 3 == 0)
      r.builder.save(r.builder.process.allocations.time[AllocationId{id}].ns, node, "self", AllocationId{id});
    if (id % 5 == 0)
      r.builder.role(now, AllocationId{id}, Role::parameter, std::string("p").append(std::to_string(id)));
  }
  r.builder.process.duration = Time{now};
  r.builder.done();
  return r;
}

bool on(const Process& p, uint32_t id, DeviceId device) {
  return p.allocations.device[AllocationId{id}] == device &&
         p.allocations.origin[AllocationId{id}] == Origin::allocator;
}

// Allocations alive after the first `count` events.
std::set<uint32_t> alive(const Random& r, size_t count, DeviceId device) {
  std::set<uint32_t> out;
  for (size_t i = 0; i < count; ++i) {
    const Event& e = r.events[i];
    if (!on(r.builder.process, e.allocation, device)) continue;
    if (e.is_free) {
      out.erase(e.allocation);
    } else {
      out.insert(e.allocation);
    }
  }
  return out;
}

Bytes sum(const Process& p, const std::set<uint32_t>& ids) {
  Bytes total{};
  for (const uint32_t id : ids) total += p.allocations.bytes[AllocationId{id}];
  return total;
}

class PeakOfRandomProcesses : public ::testing::TestWithParam<uint32_t> {};

TEST_P(PeakOfRandomProcesses, IsWhatCountingFromNothingAtEachEventFinds) {
  const Random r = make(GetParam());
  const Process& p = r.builder.process;
  for (const DevicePeak& found : device_peaks(p)) {
    Bytes most{-1};
    size_t when = 0;
    for (size_t count = 0; count <= r.events.size(); ++count) {
      if (count > 0 && !on(p, r.events[count - 1].allocation, found.device)) continue;
      const Bytes live = sum(p, alive(r, count, found.device));
      if (live > most && count > 0) {
        most = live;
        when = count;
      }
    }
    EXPECT_EQ(found.peak, most);
    EXPECT_EQ(found.when.time.ns, r.events[when - 1].time);
    EXPECT_EQ(found.live_at_end, sum(p, alive(r, r.events.size(), found.device)));

    const PeakSet set = peak_set(p, r.builder.text, found.device, found.when);
    std::set<uint32_t> members;
    for (const Member& m : set.members) members.insert(m.allocation.value);
    EXPECT_EQ(members, alive(r, when, found.device));
    EXPECT_EQ(set.bytes, most);
    EXPECT_TRUE(std::ranges::is_sorted(set.members, std::ranges::greater{}, &Member::bytes));

    const auto steps = find_steps(p);
    for (const By by : {By::field, By::node, By::module, By::source, By::op, By::category, By::step}) {
      Bytes total{};
      uint64_t allocations = 0;
      for (const AllocationGroup& g : groups(p, r.builder.text, steps, set, by)) {
        total += g.bytes;
        allocations += g.allocations;
      }
      EXPECT_EQ(total, most) << by_name(by);
      EXPECT_EQ(allocations, members.size()) << by_name(by);
    }
    for (const Member& m : set.members) {
      const auto holders = set.holders_of(m);
      ASSERT_FALSE(holders.empty());
      const bool saved = m.allocation.value % 3 == 0, named = m.allocation.value % 5 == 0;
      EXPECT_EQ(holders.size(), size_t{saved} + size_t{named} + size_t{!saved && !named});
      EXPECT_EQ(holders.front().kind, saved ? HolderKind::save : named ? HolderKind::parameter : HolderKind::program);
    }
  }
}

TEST_P(PeakOfRandomProcesses, IntervalsAreAnsweredAsByWalkingThem) {
  const Random r = make(GetParam());
  const Process& p = r.builder.process;
  const Timeline timeline(p, kCpu);
  std::mt19937 random(GetParam() + 1000);
  const int64_t end = p.duration.ns;
  for (int query = 0; query < 50; ++query) {
    int64_t from = static_cast<int64_t>(random() % static_cast<uint64_t>(end + 2));
    int64_t to = static_cast<int64_t>(random() % static_cast<uint64_t>(end + 2));
    if (from > to) std::swap(from, to);
    size_t before = 0;
    while (before < r.events.size() && r.events[before].time < from) ++before;
    Bytes most = sum(p, alive(r, before, kCpu)), allocated{};
    uint64_t allocations = 0;
    for (size_t i = before; i < r.events.size() && r.events[i].time < to; ++i) {
      if (!on(p, r.events[i].allocation, kCpu)) continue;
      most = std::max(most, sum(p, alive(r, i + 1, kCpu)));
      if (r.events[i].is_free) continue;
      ++allocations;
      allocated += p.allocations.bytes[AllocationId{r.events[i].allocation}];
    }
    const Interval interval{Time{from}, Time{to}};
    const auto found = timeline.largest(interval);
    EXPECT_EQ(found.bytes, most);
    EXPECT_EQ(timeline.live(found.when), most);
    EXPECT_EQ(peak_set(p, r.builder.text, kCpu, found.when).bytes, most);
    EXPECT_EQ(timeline.allocated(interval).allocations, allocations);
    EXPECT_EQ(timeline.allocated(interval).bytes, allocated);

    size_t upto = before;
    while (upto < r.events.size() && r.events[upto].time <= from) ++upto;
    EXPECT_EQ(timeline.live(timeline.at(Time{from})), sum(p, alive(r, upto, kCpu)));
  }
}

TEST_P(PeakOfRandomProcesses, EachOfManyIntervalsHasTheLargestThatTheTimelineHas) {
  const Random r = make(GetParam());
  const Process& p = r.builder.process;
  const Timeline timeline(p, kCpu);
  std::mt19937 random(GetParam() + 2000);
  for (int round = 0; round < 20; ++round) {
    std::vector<int64_t> borders = {0, p.duration.ns, kNever.ns};
    for (int i = 0; i < 12; ++i)
      borders.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(p.duration.ns + 2)));
    std::ranges::sort(borders);
    std::vector<Interval> intervals;
    for (size_t i = round % 3; i + 1 < borders.size(); ++i) {
      if (round % 2 == 0 || random() % 3 != 0) intervals.push_back({Time{borders[i]}, Time{borders[i + 1]}});
    }
    const std::vector<Bytes> most = largest_of_each(p, kCpu, intervals);
    ASSERT_EQ(most.size(), intervals.size());
    for (size_t i = 0; i < intervals.size(); ++i) EXPECT_EQ(most[i], timeline.largest(intervals[i]).bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PeakOfRandomProcesses, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace tapelens::peak
