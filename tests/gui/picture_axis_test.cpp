// Axes on which pixels have different lengths of time: those without pauses, and those of events.
#include <gtest/gtest.h>

#include <random>

#include "gui/picture/axis.h"
#include "testing/model_builder.h"

namespace tapelens::picture {
namespace {

using testing::kCpu;
using namespace model;
using testing::ProcessBuilder;

constexpr int64_t kSecond = 1'000'000'000;

// 10 bursts of 3 ms, a second apart; each has 30 allocations, some of the same nanosecond.
struct Bursts {
  ProcessBuilder b;
  peak::Pauses pauses;
  explicit Bursts(int bursts = 10) {
    for (int burst = 0; burst < bursts; ++burst) {
      for (int i = 0; i < 30; ++i) b.allocate((burst + 1) * kSecond + (i - i % 3) * 100'000, 64);
    }
    b.process.duration = Time{(bursts + 1) * kSecond};
    b.done();
    pauses = peak::find_pauses(b.process, kCpu);
  }
  Time whole() const { return b.process.duration; }
};

class PictureAxisKinds : public ::testing::TestWithParam<AxisKind> {
 protected:
  Bursts bursts;
  peak::Timeline timeline{bursts.b.process, kCpu};
  TimeScale scale =
      GetParam() == AxisKind::events ? TimeScale(bursts.whole(), timeline) : TimeScale(bursts.whole(), bursts.pauses);
  std::mt19937_64 random{7};

  int64_t upto(int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); }
  // With both of its ends in bursts.
  Interval view() {
    const int64_t first = 1 + upto(10), last = first + upto(11 - first);
    const int64_t begin = first * kSecond + upto(2'000'000);
    return {Time{begin}, Time{std::max(begin + kLeastShown, last * kSecond + upto(2'700'000))}};
  }
};

TEST_P(PictureAxisKinds, PlacesIncreaseAndTimesComeBack) {
  const double unit = 1e-4, pause = 20;
  double before = -1;
  for (int64_t time = 0; time <= bursts.whole().ns; time += 1 + upto(bursts.whole().ns / 3000)) {
    const TimeScale::Place place = scale.place_of(Time{time});
    const double x = place.units * unit + place.pauses * pause;
    EXPECT_GT(x, before);
    before = x;
    const double tolerance = 2 + 1e-9 * static_cast<double>(time);
    EXPECT_NEAR(static_cast<double>(scale.time_of(x, unit, pause).ns), static_cast<double>(time), tolerance);
  }
}

TEST_P(PictureAxisKinds, ColumnsCoverTheViewWithoutGaps) {
  for (int i = 0; i < 200; ++i) {
    const TimeAxis axis(&scale, view(), 300 + static_cast<int>(upto(900)));
    ASSERT_NE(axis.scale(), nullptr);
    EXPECT_EQ(axis.time_of(0), axis.shown.begin);
    EXPECT_EQ(axis.time_of(axis.width), axis.shown.end);
    for (int c = 0; c < axis.width; ++c) ASSERT_LE(axis.time_of(c), axis.time_of(c + 1));
    for (int n = 0; n < 50; ++n) {
      const Time time{axis.shown.begin.ns + upto(axis.shown.end.ns - axis.shown.begin.ns)};
      const int column = axis.column_of(time);
      ASSERT_GE(column, 0);
      ASSERT_LT(column, axis.width);
      EXPECT_LE(axis.time_of(column), time);
      EXPECT_GT(axis.time_of(column + 1), time);
      EXPECT_NEAR(axis.x_of(time), column + 0.5, 0.5);
      const Time back = axis.time_of(axis.x_of(time));
      EXPECT_LE(std::abs(back.ns - time.ns), 1 + (axis.time_of(column + 1).ns - axis.time_of(column).ns) / 1000);
    }
    EXPECT_EQ(axis.column_of(axis.shown.end), axis.width);
    EXPECT_LT(axis.column_of(Time{axis.shown.begin.ns - 1}), 0);
  }
}

TEST_P(PictureAxisKinds, AZoomKeepsThePlaceUnderTheCursor) {
  for (int i = 0; i < 300; ++i) {
    TimeAxis axis(&scale, view(), 1000);
    const double x = 100.5 + static_cast<double>(upto(800));
    const Time before = axis.time_of(x);
    for (const double factor : {1.25, 1.25, 1.6, 0.7, 0.8}) {
      const Interval next = zoomed(axis, x, factor, bursts.whole());
      EXPECT_GE(next.begin.ns, 0);
      EXPECT_LE(next.end, bursts.whole());
      EXPECT_GE(next.end.ns - next.begin.ns, kLeastShown);
      const bool is_at_limit = next.begin.ns == 0 || next.end == bursts.whole() ||
                               next.end.ns - next.begin.ns <= kLeastShown ||
                               scale.place_of(next.end).units - scale.place_of(next.begin).units < 5;
      axis = TimeAxis(&scale, next, 1000);
      if (is_at_limit) break;
      EXPECT_NEAR(axis.x_of(before), x, 1.5) << "factor " << factor;
    }
  }
}

TEST_P(PictureAxisKinds, ZoomingOutShowsAllAndPanningKeepsTheScale) {
  TimeAxis axis(&scale, {Time{5 * kSecond}, Time{5 * kSecond + 1'000'000}}, 1000);
  const double unit = axis.pixels_per_unit();
  const TimeAxis moved(&scale, panned(axis, 130, bursts.whole()), 1000);
  EXPECT_NEAR(moved.pixels_per_unit(), unit, unit * 1e-3);
  EXPECT_NEAR(moved.x_of(axis.time_of(500)), 370, 1);
  for (int i = 0; i < 80; ++i) axis = TimeAxis(&scale, zoomed(axis, 300, 0.8, bursts.whole()), 1000);
  EXPECT_EQ(axis.shown, (Interval{Time{0}, bursts.whole()}));
  EXPECT_EQ(panned(axis, 500, bursts.whole()), axis.shown);
}

TEST_P(PictureAxisKinds, TicksAreRoundAndApart) {
  for (int i = 0; i < 100; ++i) {
    const TimeAxis axis(&scale, view(), 1000);
    const Ticks marks = ticks(axis, 90);
    double before = -90;
    for (const Ticks::Tick& tick : marks.all) {
      EXPECT_GE(tick.x - before, 89.9);
      EXPECT_LT(tick.x, axis.width);
      before = tick.x;
      EXPECT_EQ(tick.number % marks.every, 0);
      if (GetParam() == AxisKind::events) {
        const Time time = timeline.time_of(static_cast<uint32_t>(tick.number) - 1);
        EXPECT_EQ(timeline.first_at_or_after(time) / 3, static_cast<uint32_t>(tick.number - 1) / 3);
        EXPECT_NEAR(axis.x_of(time), tick.x, 3 * axis.pixels_per_unit() + 1);
      } else {
        EXPECT_NEAR(axis.x_of(Time{tick.number}), tick.x, 1e-6);
        EXPECT_EQ(scale.pause_at(Time{tick.number}), nullptr);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PictureAxisKinds, ::testing::Values(AxisKind::without_pauses, AxisKind::events),
                         [](const auto& kind) { return kind.param == AxisKind::events ? "Events" : "WithoutPauses"; });

TEST(PictureAxisWithoutPauses, BusyTimeHasTheWidthAndPausesABreakEach) {
  const Bursts bursts;
  ASSERT_EQ(bursts.pauses.all.size(), 11U);
  const TimeScale scale(bursts.whole(), bursts.pauses);
  const TimeAxis axis(&scale, {Time{0}, bursts.whole()}, 1000);
  const auto all = breaks(axis);
  ASSERT_EQ(all.size(), 11U);
  int narrow = 0;
  for (const Break& one : all) {
    EXPECT_NEAR(one.x1 - one.x0, 27, 2);  // 30 % of the picture for all of them
    EXPECT_EQ(axis.column_of(one.pause.begin), one.x0);
    narrow += one.x1 - one.x0;
  }
  EXPECT_NEAR(narrow, 300, 12);
  // On an even axis, a burst has a fraction of a pixel.
  const double burst = axis.columns_of({Time{kSecond}, Time{kSecond + 2'700'000}});
  EXPECT_NEAR(burst, 70, 3);

  // A pause is not wider in a picture of a part.
  const TimeAxis part(&scale, {Time{kSecond}, Time{2 * kSecond + 2'700'000}}, 1000);
  ASSERT_EQ(breaks(part).size(), 1U);
  EXPECT_EQ(breaks(part)[0].x1 - breaks(part)[0].x0, 28);
  const TimeAxis doubled(&scale, part.shown, 2000, 2);
  EXPECT_EQ(breaks(doubled)[0].x1 - breaks(doubled)[0].x0, 56);
}

TEST(PictureAxisWithoutPauses, ALabelIsBesideTheBreaks) {
  const std::vector<Break> all{{{}, 0, 20}, {{}, 100, 120}, {{}, 125, 150}};
  const auto part = [&](int x0, int x1, int least) { return between_breaks(all, x0, x1, least); };
  EXPECT_EQ(part(0, 200, 60), (std::pair(20, 100)));
  EXPECT_EQ(part(30, 200, 60), (std::pair(30, 100)));
  EXPECT_EQ(part(60, 300, 60), (std::pair(150, 300)));
  EXPECT_EQ(part(110, 300, 60), (std::pair(150, 300)));
  EXPECT_EQ(part(105, 160, 40), (std::pair(105, 160)));  // no part is so wide
  EXPECT_EQ(part(0, 90, 60), (std::pair(20, 90)));
  EXPECT_EQ(part(2, 15, 10), (std::pair(2, 15)));
  EXPECT_EQ(part(200, 300, 60), (std::pair(200, 300)));
  EXPECT_EQ(between_breaks({}, 10, 20, 5), (std::pair(10, 20)));
}

TEST(PictureAxisWithoutPauses, ARangeWithinAPauseIsEven) {
  const Bursts bursts;
  const TimeScale scale(bursts.whole(), bursts.pauses);
  const Interval range{Time{kSecond / 4}, Time{kSecond / 2}};
  const TimeAxis axis(&scale, range, 1000);
  EXPECT_EQ(axis.scale(), nullptr);
  ASSERT_EQ(breaks(axis).size(), 1U);
  EXPECT_EQ(breaks(axis)[0].x1, 1000);
  EXPECT_EQ(axis.time_of(500), (Time{kSecond * 3 / 8}));
  Interval out = range;
  for (int i = 0; i < 40; ++i) out = zoomed(TimeAxis(&scale, out, 1000), 500, 0.8, bursts.whole());
  EXPECT_EQ(out, (Interval{Time{0}, bursts.whole()}));
}

TEST(PictureAxisWithoutPauses, WithoutAPauseIsTheEvenAxis) {
  const TimeScale scale(Time{kSecond}, peak::Pauses{});
  const TimeAxis axis(&scale, {Time{0}, Time{kSecond}}, 1000), even({Time{0}, Time{kSecond}}, 1000);
  EXPECT_EQ(axis.scale(), nullptr);
  for (int c = 0; c < 1000; ++c) EXPECT_EQ(axis.time_of(c), even.time_of(c));
}

TEST(PictureAxisOfEvents, EachEventHasTheSameWidth) {
  const Bursts bursts;
  const peak::Timeline timeline(bursts.b.process, kCpu);
  const TimeScale scale(bursts.whole(), timeline);
  const TimeAxis axis(&scale, {Time{0}, bursts.whole()}, 3010);
  // Three events of one nanosecond share their width.
  for (uint32_t event = 0; event < timeline.events(); event += 3) {
    EXPECT_NEAR(axis.x_of(timeline.time_of(event)), 10.0 * (event + 1), 0.1);
  }
}

TEST(PictureAxisOfEvents, WithoutEventsIsEven) {
  ProcessBuilder b;
  b.process.duration = Time{kSecond};
  const peak::Timeline timeline(b.done(), kCpu);
  const TimeScale scale(b.process.duration, timeline);
  const TimeAxis axis(&scale, {Time{0}, Time{kSecond}}, 1000);
  EXPECT_NEAR(axis.x_of(Time{kSecond / 2}), 500, 1);
}

}  // namespace
}  // namespace tapelens::picture
