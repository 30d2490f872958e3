// The stretches that pictures draw narrow.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/peak/pauses.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

using namespace model;
using testing::ProcessBuilder;

constexpr int64_t kSecond = 1'000'000'000, kMs = 1'000'000;

// `count` allocations, a millisecond apart; each is freed half a millisecond later. Returns the time of the last free.
int64_t burst(ProcessBuilder& b, int64_t begin, int count) {
  for (int i = 0; i < count; ++i) {
    const AllocationId id = b.allocate(begin + i * kMs, 100);
    b.free(begin + i * kMs + kMs / 2, id);
  }
  return begin + (count - 1) * kMs + kMs / 2;
}

std::vector<Interval> pauses_until(ProcessBuilder& b, int64_t end) {
  b.process.duration = Time{end};
  return find_pauses(b.done(), testing::kCpu).all;
}

TEST(Pauses, AreTheImportTheWaitAndTheEnd) {
  ProcessBuilder b;
  const int64_t first = burst(b, 5 * kSecond, 100), second = burst(b, 8 * kSecond, 100);
  EXPECT_EQ(pauses_until(b, 10 * kSecond),
            (std::vector<Interval>{{{0}, {5 * kSecond}}, {{first}, {8 * kSecond}}, {{second}, {10 * kSecond}}}));
}

TEST(Pauses, AreNoneIfTheyTakeLessThanHalf) {
  ProcessBuilder b;
  const int64_t first = burst(b, 0, 500);
  burst(b, first + 400 * kMs, 100);
  EXPECT_TRUE(pauses_until(b, first + 500 * kMs).empty());
}

TEST(Pauses, AreTheWaitsForDataOfManySteps) {
  ProcessBuilder b;
  int64_t now = 0;
  for (int step = 0; step < 200; ++step) now = burst(b, now, 20) + 300 * kMs;
  const auto pauses = pauses_until(b, now);
  EXPECT_EQ(pauses.size(), 200U);
  for (const Interval& pause : pauses) EXPECT_EQ(pause.end.ns - pause.begin.ns, 300 * kMs);
}

TEST(Pauses, AreNotTheGapsOfEvenEvents) {
  for (const int count : {1, 5, 16, 40, 3000}) {
    ProcessBuilder b;
    burst(b, 0, count);
    EXPECT_TRUE(pauses_until(b, count * kMs).empty()) << count;
  }
}

TEST(Pauses, HaveNoOperatorAndNoStepInThem) {
  ProcessBuilder b;
  const int64_t first = burst(b, 0, 100);
  b.op(first + kMs, first + 3 * kSecond, "aten::mm", {}, {}, {AllocationId{1}});
  EXPECT_TRUE(pauses_until(b, first + 3 * kSecond).empty());

  ProcessBuilder makes;
  const int64_t before = burst(makes, 0, 100);
  makes.allocate(before + kMs, 10, makes.op(before + kMs, before + 3 * kSecond, "aten::randn"));
  EXPECT_TRUE(pauses_until(makes, before + 3 * kSecond).empty());

  ProcessBuilder steps;
  const int64_t last = burst(steps, 0, 100);
  steps.process.optimizer_steps.push_back({{Time{last + kSecond}, Time{last + kSecond + kMs}}, {}});
  EXPECT_EQ(pauses_until(steps, last + 4 * kSecond),
            (std::vector<Interval>{{{last}, {last + kSecond}}, {{last + kSecond + kMs}, {last + 4 * kSecond}}}));
}

TEST(Pauses, AreThoseOfTheDevice) {
  ProcessBuilder b;
  const int64_t first = burst(b, 0, 100);
  for (int64_t i = 0; i < 40; ++i) {
    const OperatorId op = b.op(first + i * 100 * kMs + kMs, first + (i + 1) * 100 * kMs, "aten::randn");
    b.allocate(first + i * 100 * kMs + kMs, 100, op, testing::kCuda);
  }
  b.process.duration = Time{first + 4 * kSecond};
  const Process& p = b.done();
  EXPECT_EQ(find_pauses(p, testing::kCpu).all, (std::vector<Interval>{{{first}, {first + 4 * kSecond}}}));
  EXPECT_TRUE(find_pauses(p, testing::kCuda).all.empty());
}

TEST(Pauses, OfARecordingWithoutEventsAreNone) {
  ProcessBuilder b;
  EXPECT_TRUE(pauses_until(b, kSecond).empty());
}

TEST(Pauses, AreOrderedAndEmptyAndAtLeastThreeTimesAsLongAsTheyAreDrawn) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    ProcessBuilder b;
    std::vector<int64_t> times;
    int64_t now = 0;
    for (int i = 0; i < 2000; ++i) {
      const auto power = random() % (random() % 50 == 0 ? 34 : 14);  // lengths of all orders of magnitude
      now += static_cast<int64_t>(random() % (uint64_t{1} << power));
      b.allocate(now, 1);
      times.push_back(now);
    }
    b.process.duration = Time{now + static_cast<int64_t>(random() % 1000)};
    const Pauses pauses = find_pauses(b.done(), testing::kCpu);
    int64_t before = 0, all = 0;
    for (const Interval& pause : pauses.all) {
      EXPECT_GE(pause.begin.ns, before);
      before = pause.end.ns;
      all += pause.end.ns - pause.begin.ns;
      EXPECT_GE(static_cast<double>(pause.end.ns - pause.begin.ns), 3 * pauses.narrow);
      const auto event = std::ranges::upper_bound(times, pause.begin.ns);
      EXPECT_TRUE(event == times.end() || *event >= pause.end.ns) << seed;
    }
    if (pauses.all.empty()) continue;
    EXPECT_GE(2 * all, b.process.duration.ns);
    const double drawn = pauses.narrow * static_cast<double>(pauses.all.size());
    EXPECT_LE(drawn, 0.31 * (drawn + static_cast<double>(b.process.duration.ns - all)));
  }
}

}  // namespace
}  // namespace tapelens::peak
