// Axes and their pauses: the time grows linearly with the events.
#include <gtest/gtest.h>

#include <random>

#include "gui/picture/axis.h"
#include "testing/model_builder.h"
#include "tests/unit/support/doubling.h"

namespace tapelens::picture {
namespace {

using testing::kCpu;
using namespace model;
using testing::ProcessBuilder;

TEST(PictureAxisScaling, CostsGrowLinearlyWithTheEvents) {
  testing::expect_linear([](int times) {
    testing::Costs costs;
    ProcessBuilder b;
    std::mt19937 random(3);
    int64_t now = 0;
    for (int i = 0; i < times * 200'000; ++i) {
      now += random() % 1000 == 0 ? 5'000'000 : 100;
      b.allocate(now, 1);
    }
    b.process.duration = Time{now};
    b.done();
    peak::Pauses pauses;
    costs["pauses"] = testing::seconds_of([&] { pauses = peak::find_pauses(b.process, kCpu); });
    const peak::Timeline timeline(b.process, kCpu);
    const TimeScale scales[] = {TimeScale(b.process.duration, pauses), TimeScale(b.process.duration, timeline)};
    costs["frames"] = testing::seconds_of([&] {
      for (int i = 0; i < 20; ++i) {
        for (const TimeScale& scale : scales) {
          const TimeAxis axis(&scale, {Time{now / 30 * i}, Time{now / 30 * (i + 8)}}, 1500);
          EXPECT_LT(ticks(axis, 90).all.size() + breaks(axis).size(), 2000U);
        }
      }
    });
    return costs;
  });
}

}  // namespace
}  // namespace tapelens::picture
