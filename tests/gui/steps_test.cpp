// The steps as a table: counts and outliers.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QElapsedTimer>

#include "analyzer/peak/analysis.h"
#include "gui/models/steps_table.h"
#include "testing/model_builder.h"

namespace tapelens::gui {
namespace {

using model::Bytes;
using model::Time;
using Mode = QAbstractItemModelTester::FailureReportingMode;

std::vector<report::Step> steps_of(const std::vector<int64_t>& peaks) {
  std::vector<report::Step> out;
  for (const int64_t peak : peaks) {
    report::Step step;
    step.index = static_cast<uint32_t>(out.size());
    step.peak = {peak};
    out.push_back(step);
  }
  return out;
}

constexpr int64_t kMiB = 1 << 20;

TEST(StandsOut, APeakFarAboveTheMedian) {
  const StandsOut out =
      stands_out(steps_of({60 * kMiB, 100 * kMiB, 101 * kMiB, 100 * kMiB, 112 * kMiB, 100 * kMiB, 99 * kMiB}),
                 std::vector<int64_t>(7, kMiB));
  EXPECT_EQ(out.count, 1U);
  EXPECT_EQ(out.peak[4], "peak 12 % above the median");
  EXPECT_TRUE(out.peak[0].isEmpty());  // a low peak is not an outlier
}

TEST(StandsOut, NothingWhereAllAreMuchTheSame) {
  const StandsOut out = stands_out(steps_of({1000, 1000, 1000, 1001, 1000, 1010}), std::vector<int64_t>(6, 10));
  EXPECT_EQ(out.count, 0U);
  EXPECT_EQ(stands_out({}, {}).count, 0U);
}

TEST(StandsOut, NothingWherePeaksDifferAnyway) {
  const StandsOut out = stands_out(steps_of({100, 150, 80, 120, 170, 90, 140, 110, 160}), std::vector<int64_t>(9, 10));
  EXPECT_EQ(out.count, 0U);
}

TEST(StandsOut, BytesThatGrowFromStepToStep) {
  const StandsOut out = stands_out(steps_of(std::vector<int64_t>(8, 100 * kMiB)),
                                   {0, 10 * kMiB, 10 * kMiB, 13 * kMiB, 16 * kMiB, 19 * kMiB, 22 * kMiB, 22 * kMiB});
  EXPECT_EQ(out.count, 4U);
  EXPECT_TRUE(out.growth[2].isEmpty());
  for (const size_t step : {3, 4, 5, 6}) EXPECT_EQ(out.growth[step], "grows by 3.0 MiB a step since step 2");
  EXPECT_TRUE(out.growth[7].isEmpty());
}

TEST(StandsOut, WhatTheFirstStepLeavesIsNoGrowth) {
  const StandsOut out = stands_out(steps_of(std::vector<int64_t>(7, 100 * kMiB)),
                                   {0, 9 * kMiB, 10 * kMiB, 11 * kMiB, 12 * kMiB, 13 * kMiB, 14 * kMiB});
  EXPECT_EQ(out.count, 5U);
  EXPECT_TRUE(out.growth[1].isEmpty());
  for (size_t step = 2; step < 7; ++step) EXPECT_EQ(out.growth[step], "grows by 1.0 MiB a step since step 1");
}

TEST(StandsOut, NoGrowthOfAFewBytesOrOfThreeSteps) {
  const auto steps = steps_of(std::vector<int64_t>(6, 100 * kMiB));
  EXPECT_EQ(stands_out(steps, {0, 4, 8, 12, 16, 20}).count, 0U);
  EXPECT_EQ(stands_out(steps, {0, kMiB, 2 * kMiB, 3 * kMiB, 3 * kMiB, 3 * kMiB}).count, 0U);
}

// In each of two steps, 1000 bytes are alive from its middle to its end. 50 bytes stay alive.
class TwoSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    b_.allocate(10, 50);
    for (const int64_t begin : {0, 600}) {
      const model::AllocationId id = b_.allocate(begin + 300, 1000);
      b_.free(begin + 599, id);
      b_.optimizer_step(begin + 598, begin + 600);
    }
    b_.process.duration = Time{1200};
    b_.done();
    steps_ = model::find_steps(b_.process);
    timeline_ = std::make_shared<const peak::Timeline>(b_.process, tapelens::testing::kCpu);
    table_.show(timeline_, timeline_.get(), peak::step_memory(peak::Analysis(b_.process, b_.text), *timeline_));
  }
  QString shown(int row, int column) const { return table_.index(row, column).data().toString(); }

  tapelens::testing::ProcessBuilder b_;
  std::vector<model::Step> steps_;
  std::shared_ptr<const peak::Timeline> timeline_;
  StepsTable table_;
};

TEST_F(TwoSteps, AreRows) {
  const QAbstractItemModelTester tester(&table_, Mode::Fatal);
  ASSERT_EQ(table_.rowCount(), 2);
  EXPECT_EQ(shown(0, StepsTable::step), "0");
  EXPECT_EQ(shown(0, StepsTable::peak), "1.0 KiB");
  EXPECT_EQ(shown(0, StepsTable::live), "0 B");
  EXPECT_EQ(shown(1, StepsTable::live), "50 B");
  EXPECT_EQ(shown(0, StepsTable::allocations), "2");
  EXPECT_EQ(shown(1, StepsTable::allocations), "1");
  EXPECT_EQ(shown(1, StepsTable::allocated), "1000 B");
  EXPECT_EQ(shown(1, StepsTable::time), "600 ns");
  EXPECT_EQ(table_.index(0, StepsTable::peak).data(Qt::EditRole).toLongLong(), 1050);
  EXPECT_EQ(table_.largest(), 0);
  EXPECT_EQ(table_.row_of(1), 1);
  EXPECT_EQ(table_.row_of(2), -1);
}

TEST_F(TwoSteps, HaveTheMostOfEachPart) {
  for (int row = 0; row < 2; ++row) {
    const auto parts = table_.index(row, StepsTable::shape).data(StepsTable::sparkline_role).value<QList<qint64>>();
    ASSERT_EQ(parts.size(), StepsTable::kParts);
    EXPECT_EQ(parts[2], 50);
    EXPECT_EQ(parts[29], 50);
    EXPECT_EQ(parts[31], 1050);
    EXPECT_EQ(*std::ranges::max_element(parts), 1050);
    EXPECT_EQ(table_.index(row, StepsTable::shape).data(StepsTable::most_role).toLongLong(), 1050);
  }
  EXPECT_FALSE(table_.index(0, StepsTable::peak).data(StepsTable::sparkline_role).isValid());
}

TEST(StepsTable, OfAHundredThousandStepsIsSortedAndFiltered) {
  tapelens::testing::ProcessBuilder b;
  constexpr int kSteps = 100'000;
  std::vector<report::Step> steps;
  for (int i = 0; i < kSteps; ++i) {
    const model::AllocationId id = b.allocate(i * 10 + 1, 1000 + (i == 77 ? 500 : 0));
    b.free(i * 10 + 8, id);
    report::Step step;
    step.index = static_cast<uint32_t>(i);
    step.begin = Time{i * 10};
    step.end = Time{i * 10 + 10};
    step.peak = {1000 + (i == 77 ? 500 : 0)};
    steps.push_back(step);
  }
  b.process.duration = Time{kSteps * 10};
  b.done();
  const auto timeline = std::make_shared<const peak::Timeline>(b.process, tapelens::testing::kCpu);
  QElapsedTimer timer;
  timer.start();
  StepsTable table;
  table.show(timeline, timeline.get(), steps);
  EXPECT_EQ(table.outstanding().count, 1U);
  StepsRows rows(table);
  rows.sort(StepsTable::peak, Qt::DescendingOrder);
  EXPECT_EQ(rows.index(0, StepsTable::step).data().toString(), "77");
  EXPECT_EQ(rows.index(0, StepsTable::peak).data(StepsTable::why_role).toString(), "peak 50 % above the median");
  rows.set_filter("", true);
  EXPECT_EQ(rows.rowCount(), 1);
  rows.set_filter("step 4242", false);
  EXPECT_EQ(rows.rowCount(), 20);  // steps 4242, 14242 to 94242, and 42420 to 42429
  rows.set_filter("above MEDIAN", false);
  EXPECT_EQ(rows.rowCount(), 1);
  EXPECT_LT(timer.elapsed(), 10'000);
}

}  // namespace
}  // namespace tapelens::gui
