// The time axis, the curve, blocks and spans, compared with oracles that visit every event.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analyzer/model/steps.h"
#include "gui/picture/axis.h"
#include "gui/picture/blocks.h"
#include "gui/picture/canvas.h"
#include "gui/picture/curve.h"
#include "gui/picture/packing.h"
#include "gui/picture/tracks.h"
#include "testing/model_builder.h"

namespace tapelens::picture {
namespace {

using testing::kCpu;
using testing::ProcessBuilder;

// A random process: allocations begin and end, some of them are saved, and operators and modules nest.
struct Random {
  ProcessBuilder b;
  std::mt19937 random;
  explicit Random(uint32_t seed, int events = 3000) : random(seed) {
    std::vector<AllocationId> live;
    int64_t now = 1;
    const ModuleId module = b.module("Net.layer1.conv", "Conv2d");
    for (int i = 0; i < events; ++i) {
      now += upto(20) == 0 ? upto(5000) : upto(4);  // bursts: several events have the same nanosecond
      if (live.empty() || upto(100) < (i / 200 % 2 == 0 ? 62 : 40)) {
        const OperatorId op =
            upto(3) == 0 ? b.op(now, now + upto(40), upto(2) == 0 ? "aten::mul" : "aten::add") : OperatorId{};
        if (upto(5) == 0) b.call(now, now + upto(300), module);
        const AllocationId id = b.allocate(now, upto(3) == 0 ? upto(100) : upto(1 << 20), op);
        live.push_back(id);
        if (upto(3) == 0) b.save(now, b.node(now, "MulBackward0", op), "self", id);
      } else {
        std::swap(live[upto(static_cast<int>(live.size()))], live.back());
        b.free(now, live.back());
        live.pop_back();
      }
    }
    b.process.duration = Time{now + 10};
    b.done();
  }
  int upto(int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); }
  Interval interval() {
    const int64_t whole = b.process.duration.ns;
    const int64_t length = std::max<int64_t>(1, whole >> upto(12));
    const int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(whole - length + 1));
    return {Time{begin}, Time{begin + length}};
  }
};

// Layouts of a random process; its longer stretches without an event are the pauses.
class Scales {
 public:
  Scales(const Random& r, const peak::Timeline& timeline)
      : without_pauses_(r.b.process.duration, pauses_of(r.b.process.duration, timeline)),
        by_events_(r.b.process.duration, timeline) {}
  const TimeScale* kind(int i) const { return i % 3 == 0 ? nullptr : i % 3 == 1 ? &without_pauses_ : &by_events_; }

 private:
  static peak::Pauses pauses_of(Time whole, const peak::Timeline& timeline) {
    peak::Pauses out;
    for (uint32_t event = 1; event < timeline.events(); ++event) {
      const Interval gap{timeline.time_of(event - 1), timeline.time_of(event)};
      if (gap.end.ns - gap.begin.ns > 3000) out.all.push_back(gap);
    }
    if (!out.all.empty()) out.narrow = static_cast<double>(whole.ns) / 10 / static_cast<double>(out.all.size());
    return out;
  }
  TimeScale without_pauses_, by_events_;
};

bool is_alive(const Process& p, AllocationId id, const peak::Moment& moment) { return moment.holds(p, id); }

TEST(PictureAxis, TimesFallIntoTheColumnsThatBeginBeforeThem) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const int64_t begin = static_cast<int64_t>(random() % 1'000'000'000'000),
                  length = kLeastShown + static_cast<int64_t>(random() % (1ULL << (i % 40)));
    const TimeAxis axis({Time{begin}, Time{begin + length}}, 1 + static_cast<int>(random() % 3000));
    const Time time{begin + static_cast<int64_t>(random() % static_cast<uint64_t>(length))};
    const int column = axis.column_of(time);
    ASSERT_GE(column, 0);
    ASSERT_LT(column, axis.width);
    EXPECT_LE(axis.time_of(column), time);
    if (column + 1 < axis.width) {
      EXPECT_GT(axis.time_of(column + 1), time);
    }
    EXPECT_EQ(axis.column_of(Time{begin + length}), axis.width);
    EXPECT_LT(axis.column_of(Time{begin - 1}), 0);
  }
}

TEST(PictureAxis, ZoomKeepsThePlaceUnderTheCursorAndStaysInside) {
  const Time whole{1'000'000'000};
  TimeAxis axis({Time{0}, whole}, 1000);
  for (int i = 0; i < 40; ++i) {
    const Time before = axis.time_of(700);
    axis = TimeAxis(zoomed(axis, 700, 1.25, whole), 1000);
    EXPECT_NEAR(static_cast<double>(axis.time_of(700).ns), static_cast<double>(before.ns), axis.ns_per_pixel() + 2);
    EXPECT_GE(axis.shown.begin.ns, 0);
    EXPECT_LE(axis.shown.end, whole);
  }
  for (int i = 0; i < 200; ++i) axis = TimeAxis(zoomed(axis, 10, 1.5, whole), 1000);
  EXPECT_EQ(axis.shown.end.ns - axis.shown.begin.ns, kLeastShown);
  for (int i = 0; i < 200; ++i) axis = TimeAxis(zoomed(axis, 10, 1 / 1.5, whole), 1000);
  EXPECT_EQ(axis.shown, (Interval{Time{0}, whole}));
  EXPECT_EQ(panned(axis, 500, whole), axis.shown);
}

TEST(PictureAxis, TicksAreRoundAndFarEnoughApart) {
  for (const int64_t length : {20'000LL, 123'456LL, 999'999'937LL, 77'000'000'000LL}) {
    const TimeAxis axis({Time{length / 3}, Time{length / 3 + length}}, 1200);
    const Ticks marks = ticks(axis, 90);
    EXPECT_GE(static_cast<double>(marks.every) / axis.ns_per_pixel(), 90);
    EXPECT_LT(static_cast<double>(marks.every) / axis.ns_per_pixel(), 90 * 2.6);
    int64_t next = (axis.shown.begin.ns + marks.every - 1) / marks.every * marks.every;
    for (const Ticks::Tick& tick : marks.all) {
      EXPECT_EQ(tick.number, next);
      EXPECT_EQ(tick.x, axis.x_of(Time{next}));
      next += marks.every;
    }
    EXPECT_GE(next, axis.shown.end.ns);
    int64_t digits = marks.every;
    while (digits % 10 == 0) digits /= 10;
    EXPECT_TRUE(digits == 1 || digits == 2 || digits == 5) << marks.every;
  }
}

// The oracle sums the live bytes after each event.
TEST(PictureCurve, EachColumnIsTheMostOfItsTimesAndItsGroupsSumToIt) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    Random r(seed);
    const Process& p = r.b.process;
    const peak::Timeline timeline(p, kCpu);
    const auto steps = find_steps(p);
    const peak::PeakSet peak = peak_set(p, r.b.text, kCpu, timeline.largest({Time{0}, kNever}).when);
    const Curve curve(timeline, group(p, r.b.text, steps, peak, seed % 2 == 0 ? peak::By::category : peak::By::op));
    struct Event {
      int64_t time, live;
    };
    std::vector<Event> events;
    for (uint32_t e = 0; e < timeline.events(); ++e)
      events.push_back({timeline.time_of(e).ns, timeline.live_after(e).value});
    for (int i = 0; i < 20; ++i) {
      const Scales scales(r, timeline);
      const TimeAxis axis(scales.kind(i), r.interval(), 1 + r.upto(700));
      std::vector<PixelColumn> columns;
      curve.columns(axis, columns);
      ASSERT_EQ(columns.size(), static_cast<size_t>(axis.width));
      size_t next = 0;
      int64_t live = 0;
      while (next < events.size() && events[next].time < axis.time_of(0).ns) live = events[next++].live;
      for (int c = 0; c < axis.width; ++c) {
        int64_t most = live;
        while (next < events.size() && events[next].time < axis.time_of(c + 1).ns) {
          live = events[next++].live;
          most = std::max(most, live);
        }
        const PixelColumn& column = columns[static_cast<size_t>(c)];
        ASSERT_EQ(column.most.value, most) << "seed " << seed << " column " << c;
        int64_t sum = 0;
        for (const int64_t bytes : column.bytes) {
          EXPECT_GE(bytes, 0);
          sum += bytes;
        }
        ASSERT_EQ(sum, most);
      }
      // The oracle sums the groups of a column over all allocations.
      const PixelColumn& some = columns[static_cast<size_t>(r.upto(axis.width))];
      const peak::Moment moment = timeline.moment_after_first(some.events);
      std::array<int64_t, Grouping::kGroups> bytes{};
      for (uint32_t id = 1; id <= p.allocations.rows(); ++id) {
        if (is_alive(p, AllocationId{id}, moment))
          bytes[curve.grouping().of[id]] += p.allocations.bytes[AllocationId{id}].value;
      }
      EXPECT_EQ(bytes, some.bytes);
      std::vector<Bytes> most;
      most_columns(timeline, axis, most);
      for (int c = 0; c < axis.width; ++c)
        ASSERT_EQ(most[static_cast<size_t>(c)], columns[static_cast<size_t>(c)].most);
    }
  }
}

TEST(PictureCurve, AtThePeakPlacesAreThoseOfTheReport) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    Random r(seed);
    const Process& p = r.b.process;
    const peak::Timeline timeline(p, kCpu);
    const auto steps = find_steps(p);
    const peak::Moment when = timeline.largest({Time{0}, kNever}).when;
    const peak::PeakSet peak = peak_set(p, r.b.text, kCpu, when);
    for (const peak::By by : {peak::By::module, peak::By::source, peak::By::op, peak::By::step}) {
      const Curve curve(timeline, group(p, r.b.text, steps, peak, by));
      const auto bytes = curve.bytes_after(timeline.event_of(when.last_allocation) + 1);
      const auto groups = peak::groups(p, r.b.text, steps, peak, by);
      int64_t rest = 0;
      for (size_t i = Grouping::kNamed; i < groups.size(); ++i) rest += groups[i].bytes.value;
      for (size_t i = 0; i < std::min<size_t>(groups.size(), Grouping::kNamed); ++i) {
        const auto at = std::ranges::find(curve.grouping().names, groups[i].key);
        ASSERT_NE(at, curve.grouping().names.end()) << groups[i].key;
        EXPECT_EQ(bytes[static_cast<size_t>(at - curve.grouping().names.begin())], groups[i].bytes.value);
      }
      EXPECT_EQ(bytes[Grouping::kRest], rest);
    }
  }
}

TEST(PictureCurve, AnAllocationHasOneCategoryWhereverThePeakIs) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    Random r(seed);
    const Process& p = r.b.process;
    const peak::Timeline timeline(p, kCpu);
    const auto steps = find_steps(p);
    const peak::Moment when = timeline.largest({Time{0}, kNever}).when;
    const Grouping at_peak = group(p, r.b.text, steps, peak_set(p, r.b.text, kCpu, when), peak::By::category);
    const peak::Moment early = timeline.moment_after_first(timeline.events() / 3);
    const Grouping before = group(p, r.b.text, steps, peak_set(p, r.b.text, kCpu, early), peak::By::category);
    EXPECT_EQ(at_peak.of, before.of);
    // Exactly the groups with an allocation are drawn, each once.
    const std::set<uint8_t> has(at_peak.of.begin() + 1, at_peak.of.end());
    EXPECT_EQ(std::set<uint8_t>(at_peak.stacked.begin(), at_peak.stacked.end()), has);
    EXPECT_EQ(at_peak.stacked.size(), has.size());
  }
}

TEST(PictureCurve, WhatStaysThroughAStepLiesBelowWhatMoves) {
  ProcessBuilder b;
  b.allocate(1, 10);
  const AllocationId saved = b.allocate(2, 20), state = b.allocate(3, 30), weight = b.allocate(4, 40);
  b.save(5, b.node(5, "MulBackward0"), "self", saved);
  b.role(6, state, Role::optimizer_state, "exp_avg");
  b.role(6, weight, Role::parameter, "weight");
  b.process.duration = Time{10};
  const Process& p = b.done();
  const peak::Timeline timeline(p, kCpu);
  const peak::PeakSet peak = peak_set(p, b.text, kCpu, timeline.largest({Time{0}, kNever}).when);
  const Grouping grouping = group(p, b.text, find_steps(p), peak, peak::By::category);
  const auto number = [](peak::HolderKind kind) { return static_cast<uint8_t>(kind); };
  using enum peak::HolderKind;
  EXPECT_EQ(grouping.stacked, (std::vector{number(parameter), number(optimizer_state), number(save), number(program)}));
}

TEST(PictureCurve, LoweredIsTheCurveLessWhatTheReplayTookAway) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    Random r(seed);
    const peak::Timeline timeline(r.b.process, kCpu);
    std::vector<peak::Replay::Outcome::Lower> lower;
    for (uint32_t event = 0; event < timeline.events(); event += 1 + static_cast<uint32_t>(r.upto(700))) {
      lower.push_back({event, r.upto(1 << 20) - (1 << 18)});
    }
    const Lowered lowered(timeline, lower);
    for (int i = 0; i < 20; ++i) {
      const Scales scales(r, timeline);
      const TimeAxis axis(scales.kind(i), r.interval(), 1 + r.upto(500));
      std::vector<Bytes> columns;
      lowered.columns(timeline, axis, columns);
      const auto after = [&](uint32_t event) {
        int64_t by = 0;
        for (const auto& step : lower) {
          if (step.event <= event) by = step.bytes;
        }
        return timeline.live_after(event).value - by;
      };
      const int c = r.upto(axis.width);
      const uint32_t first = timeline.first_at_or_after(axis.time_of(c)),
                     last = timeline.first_at_or_after(axis.time_of(c + 1));
      int64_t most = first == 0 ? 0 : after(first - 1);
      for (uint32_t e = first; e < last; ++e) most = std::max(most, after(e));
      EXPECT_EQ(columns[static_cast<size_t>(c)].value, most);
    }
  }
}

TEST(PicturePacking, TakesTheLowestOfTheSmallestGapsAndJoinsThem) {
  Arena arena;
  EXPECT_EQ(arena.take(10), 0);
  EXPECT_EQ(arena.take(20), 10);
  EXPECT_EQ(arena.take(10), 30);
  EXPECT_EQ(arena.take(5), 40);
  arena.give(10, 20);
  arena.give(0, 10);  // the three gaps are one gap of 30
  EXPECT_EQ(arena.take(30), 0);
  arena.give(30, 10);
  arena.give(0, 30);
  EXPECT_EQ(arena.take(40), 0);
  arena.give(40, 5);
  EXPECT_EQ(arena.take(7), 40);
  EXPECT_EQ(arena.extent(), 47);
}

TEST(PictureBlocks, NoTwoThatAreAliveTogetherOverlap) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    Random r(seed, 1200);
    const Process& p = r.b.process;
    const peak::Timeline timeline(p, kCpu);
    const Blocks blocks(p, timeline, timeline.largest({Time{0}, kNever}).bytes);
    std::vector<AllocationId> live;
    for (uint32_t e = 0; e < timeline.events(); ++e) {
      const AllocationId id = timeline.allocation_of(e);
      if (std::erase(live, id) > 0) continue;
      const int64_t begin = blocks.place(id), end = begin + p.allocations.bytes[id].value;
      EXPECT_GE(begin, 0);
      EXPECT_LE(end, blocks.extent());
      for (const AllocationId other : live) {
        const int64_t from = blocks.place(other), to = from + p.allocations.bytes[other].value;
        ASSERT_TRUE(end <= from || to <= begin || from == to || begin == end) << id.value << " and " << other.value;
      }
      live.push_back(id);
    }
  }
}

TEST(PictureBlocks, RectanglesContainTheLifeAndTheBytesAndNoneIsMissing) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    Random r(seed);
    const Process& p = r.b.process;
    const peak::Timeline timeline(p, kCpu);
    const auto steps = find_steps(p);
    const peak::PeakSet peak = peak_set(p, r.b.text, kCpu, timeline.largest({Time{0}, kNever}).when);
    const Curve curve(timeline, group(p, r.b.text, steps, peak, peak::By::category));
    const Blocks blocks(p, timeline, peak.bytes);
    for (int i = 0; i < 12; ++i) {
      const Scales scales(r, timeline);
      const TimeAxis axis(scales.kind(i), r.interval(), 20 + r.upto(600));
      const ByteAxis bytes{0, blocks.extent(), 50 + r.upto(400)};
      std::vector<PixelColumn> columns;
      curve.columns(axis, columns);
      std::vector<int> seen(p.allocations.rows() + 1, 0);
      std::vector<std::vector<bool>> shown(p.allocations.rows() + 1);
      const auto moment_of = [&](size_t first) {
        size_t most = first;
        for (size_t c = first; c < std::min(columns.size(), first + Blocks::kShort); ++c) {
          if (columns[c].most > columns[most].most) most = c;
        }
        return timeline.moment_after_first(columns[most].events);
      };
      blocks.visit(axis, bytes, columns, [&](const Blocks::Rectangle& rect) {
        const uint32_t id = rect.allocation.value;
        ++seen[id];
        ASSERT_GE(rect.x0, 0);
        ASSERT_LT(rect.x0, rect.x1);
        ASSERT_LT(rect.y0, rect.y1);
        const double top = bytes.y_of(blocks.place(rect.allocation) + p.allocations.bytes[rect.allocation].value);
        const double bottom = bytes.y_of(blocks.place(rect.allocation));
        EXPECT_NEAR(rect.y1, bottom, 0.51);
        if (bottom - top >= 1) {
          EXPECT_NEAR(rect.y0, top, 0.51);
        }
        const Time begin = p.allocations.time[rect.allocation], end = p.freed(rect.allocation);
        if (axis.columns_of({begin, end}) >= 1) {
          // The rectangle covers the visible part of the allocation's lifetime.
          EXPECT_LE(rect.x0, std::max(0, axis.column_of(begin)));
          EXPECT_GE(rect.x1, end >= axis.shown.end ? axis.width : axis.column_of(end));
        } else {
          // A short allocation is drawn for kShort columns. It is alive at their highest moment.
          EXPECT_EQ(static_cast<size_t>(rect.x0) % Blocks::kShort, 0u);
          EXPECT_TRUE(is_alive(p, rect.allocation, moment_of(static_cast<size_t>(rect.x0))));
        }
      });
      // Each allocation that is alive at such a moment is drawn.
      for (size_t c = 0; c < columns.size(); c += Blocks::kShort) {
        const peak::Moment moment = moment_of(c);
        for (uint32_t id = 1; id <= p.allocations.rows(); ++id) {
          if (is_alive(p, AllocationId{id}, moment) && !blocks.is_small(AllocationId{id}) &&
              p.freed(AllocationId{id}) > axis.shown.begin) {
            ASSERT_GT(seen[id], 0) << "seed " << seed << " allocation " << id;
          }
        }
      }
    }
  }
}

TEST(PictureBlocks, WhatLiesAtAPlaceIsFound) {
  Random r(3);
  const Process& p = r.b.process;
  const peak::Timeline timeline(p, kCpu);
  const Blocks blocks(p, timeline, timeline.largest({Time{0}, kNever}).bytes);
  int found = 0;
  for (uint32_t id = 1; id <= p.allocations.rows(); ++id) {
    const AllocationId allocation{id};
    const Time begin = p.allocations.time[allocation], end = std::min(p.freed(allocation), p.duration);
    const int64_t bytes = p.allocations.bytes[allocation].value;
    if (bytes == 0 || end <= begin) continue;
    EXPECT_EQ(blocks.at({(begin.ns + end.ns) / 2}, blocks.place(allocation) + bytes / 2), allocation);
    ++found;
  }
  EXPECT_GT(found, 500);
  EXPECT_FALSE(blocks.at(Time{p.duration.ns / 2}, blocks.extent() + 1));
}

TEST(PictureTracks, SpansNestByTimeAndEveryOneLiesInAPiece) {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    Random r(seed);
    const Process& p = r.b.process;
    const peak::Timeline timeline(p, kCpu);
    Threads threads;
    threads.os_id.raw = {0, 77, 78};
    for (auto* column : {&threads.of_operator.raw, &threads.of_module_call.raw, &threads.of_evaluation.raw})
      column->resize(1);
    for (uint32_t i = 0; i < p.operators.rows(); ++i)
      threads.of_operator.raw.push_back(static_cast<uint16_t>(1 + r.upto(2)));
    for (uint32_t i = 0; i < p.module_calls.rows(); ++i) threads.of_module_call.raw.push_back(1);
    const Tracks tracks(p, threads);
    ASSERT_EQ(tracks.tracks().size(), 2u);
    size_t spans = 0;
    for (const Track& track : tracks.tracks()) {
      for (const TrackRow& row : track.rows) {
        spans += row.id.size();
        for (size_t i = 1; i < row.id.size(); ++i) ASSERT_LE(row.end[i - 1], row.begin[i]);
        for (int n = 0; n < 10; ++n) {
          const Scales scales(r, timeline);
          const TimeAxis axis(scales.kind(n), r.interval(), 10 + r.upto(500));
          std::vector<int> cover(static_cast<size_t>(axis.width), 0);
          int before = 0;
          Tracks::visit(row, axis, [&](const Tracks::Piece& piece) {
            ASSERT_LE(before, piece.x0 + 3);
            ASSERT_LT(piece.x0, piece.x1);
            ASSERT_LE(piece.x1, axis.width);
            before = piece.x1;
            for (int x = piece.x0; x < piece.x1; ++x) cover[static_cast<size_t>(x)] = 1;
          });
          for (size_t i = 0; i < row.id.size(); ++i) {
            if (row.end[i] <= axis.shown.begin.ns || row.begin[i] >= axis.shown.end.ns) continue;
            const int x = std::max(0, axis.column_of(Time{row.begin[i]}));
            EXPECT_EQ(cover[static_cast<size_t>(x)], 1) << "span " << i;
          }
        }
        for (size_t i = 0; i < row.id.size(); ++i) {
          if (row.end[i] > row.begin[i]) {
            EXPECT_EQ(Tracks::at(row, Time{(row.begin[i] + row.end[i]) / 2}), row.id[i]);
          }
        }
      }
    }
    EXPECT_EQ(spans, p.operators.rows() + p.module_calls.rows());
  }
}

TEST(PictureTracks, TheLongestOfManyIsShownForThem) {
  TrackRow row;
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    row.begin.push_back(i * 100);
    row.end.push_back(i * 100 + static_cast<int64_t>(random() % 90));
    row.id.push_back(static_cast<uint32_t>(i + 1));
  }
  row.index();
  for (int n = 0; n < 200; ++n) {
    const size_t first = random() % 4000, last = first + 1 + random() % 999;
    size_t best = first;
    for (size_t i = first; i < last; ++i)
      if (row.end[i] - row.begin[i] > row.end[best] - row.begin[best]) best = i;
    EXPECT_EQ(row.end[row.longest(first, last)] - row.begin[row.longest(first, last)], row.end[best] - row.begin[best]);
  }
}

TEST(PictureBands, EveryTimeHasThePhaseThatTheReportNames) {
  ProcessBuilder b;
  const ModuleId net = b.module("Net", "Net");
  for (int step = 0; step < 4; ++step) {
    const int64_t t = step * 1000;
    for (const int64_t batch : {5, 20}) {
      if (step % 2 == 1) b.call(t + batch, t + batch + 10, net, {}, trace::kModuleCallWithoutGradients);
    }
    const OperatorId op = b.op(t + 50, t + 60, "aten::mul");
    b.allocate(t + 55, 64, op);
    b.node(t + 58, "MulBackward0", op);
    if (step == 2) b.call(t + 100, t + 200, net, {}, trace::kModuleCallWithoutGradients);
    b.backward(t + 300, t + 600);
    b.optimizer_step(t + 700, t + 990);
  }
  b.process.duration = Time{4100};
  b.done();
  const auto steps = find_steps(b.process);
  const Phases phases(b.process, steps);
  const Bands made = bands(b.process, steps, phases);
  ASSERT_EQ(made.steps.size(), 4u);
  for (int64_t t = 0; t < 3990; ++t) {
    const auto at =
        std::ranges::find_if(made.phases, [&](const Bands::Band& band) { return band.when.contains(Time{t}); });
    const Phase drawn = at == made.phases.end() ? Phase::other : at->phase;
    ASSERT_EQ(phase_name(drawn), phase_name(phases.at(Time{t}))) << t;
  }
}

TEST(PictureCanvas, FillsInsideOnlyAndPatternsMeet) {
  std::vector<Pixel> pixels(40 * 30, 1);
  const Canvas canvas{pixels.data(), 32, 30, 40};
  canvas.fill(-5, -5, 200, 200, 2, Pattern::rising, 3);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      const Pixel wanted = x >= 32 ? 1 : is_ink(Pattern::rising, x, y) ? 3 : 2;
      ASSERT_EQ(pixels[static_cast<size_t>(y * 40 + x)], wanted);
    }
  }
  // Drawing column by column gives the same picture.
  std::vector<Pixel> columns(40 * 30, 1);
  for (const Pattern pattern : {Pattern::plain, Pattern::rising, Pattern::falling, Pattern::dots, Pattern::crosses,
                                Pattern::level, Pattern::upright}) {
    canvas.fill(0, 0, 32, 30, 5, pattern, 6);
    const Canvas other{columns.data(), 32, 30, 40};
    for (int x = 0; x < 32; ++x) other.fill(x, 0, x + 1, 30, 5, pattern, 6);
    EXPECT_EQ(pixels, columns);
  }
}

}  // namespace
}  // namespace tapelens::picture
