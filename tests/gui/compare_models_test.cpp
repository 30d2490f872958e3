// Common and different parts of two recordings, without a window.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "gui/models/compare.h"
#include "gui/models/facts.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

using Tester = QAbstractItemModelTester;

std::shared_ptr<Document> load(const QString& path) {
  const Loaded loaded = Document::load(path, {});
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
  return loaded ? *loaded : nullptr;
}

TEST(Compared, DifferencesHaveASign) {
  EXPECT_EQ(signed_bytes(Bytes{2 << 20}), "+2.0 MiB");
  EXPECT_EQ(signed_bytes(Bytes{-(2 << 20)}), "\u22122.0 MiB");
  EXPECT_EQ(signed_bytes(Bytes{}), "0 B");
}

class TwoRecordings : public ::testing::Test {
 protected:
  void SetUp() override {
    a_ = load(testing::synthetic_recording(20'000));
    b_ = load(testing::synthetic_recording(40'000));
    ASSERT_TRUE(a_ && b_);
  }
  MomentComparison compared_by(peak::By by, std::optional<uint32_t> step = {}) const {
    return compare(*a_, a_->subject(0), *b_, b_->subject(0), step, by);
  }
  std::shared_ptr<Document> a_, b_;
};

TEST_F(TwoRecordings, ModulesSumToBothPeaksAndHaveTheNamesOfGroups) {
  const MomentComparison comparison = compared_by(peak::By::module);
  const compare::ModuleTree& tree = comparison.modules.tree;
  EXPECT_EQ(tree.node(compare::ModuleTree::kRoot).a, comparison.a.bytes);
  EXPECT_EQ(tree.node(compare::ModuleTree::kRoot).b, comparison.b.bytes);
  std::set<std::string> groups;
  for (const ComparedGroup& group : comparison.groups) groups.insert(group.name);
  EXPECT_EQ(comparison.modules.within(compare::ModuleTree::kRoot), groups);
}

TEST_F(TwoRecordings, GroupsAreThoseOfThePeaksAndSumToThem) {
  for (const peak::By by :
       {peak::By::field, peak::By::node, peak::By::module, peak::By::source, peak::By::op, peak::By::category}) {
    const MomentComparison comparison = compared_by(by);
    EXPECT_EQ(comparison.a.bytes, a_->subject(0).device.peak);
    EXPECT_EQ(comparison.b.bytes, b_->subject(0).device.peak);
    Bytes sum_a, sum_b;
    for (const ComparedGroup& group : comparison.groups) {
      sum_a += group.a;
      sum_b += group.b;
    }
    EXPECT_EQ(sum_a, comparison.a.bytes) << peak::by_name(by);
    EXPECT_EQ(sum_b, comparison.b.bytes) << peak::by_name(by);
    const Subject& of_a = a_->subject(0);
    for (const peak::AllocationGroup& group : peak::groups(of_a.of.process, a_->text(), of_a.of.steps, of_a.peak, by)) {
      const auto row = std::ranges::find(comparison.groups, group.key, &ComparedGroup::name);
      ASSERT_NE(row, comparison.groups.end());
      EXPECT_GE(row->a, group.bytes);
      EXPECT_GE(row->allocations_a, group.allocations);
    }
  }
}

TEST_F(TwoRecordings, AStepIsThatOfBoth) {
  for (const uint32_t step : {0U, 2U}) {
    const MomentComparison comparison = compared_by(peak::By::category, step);
    for (const auto& [document, moment] : {std::pair(a_, comparison.a), {b_, comparison.b}}) {
      const Subject& subject = document->subject(0);
      EXPECT_EQ(moment.step, step);
      EXPECT_EQ(moment.bytes, subject.timeline.largest(subject.of.steps[step].when).bytes);
      EXPECT_TRUE(subject.of.steps[step].when.contains(moment.time));
    }
  }
}

TEST_F(TwoRecordings, AStepThatOnlyOneHasIsEmptyInTheOther) {
  const auto last = static_cast<uint32_t>(b_->subject(0).of.steps.size() - 1);
  ASSERT_GE(last, a_->subject(0).of.steps.size());
  const MomentComparison comparison = compared_by(peak::By::field, last);
  EXPECT_EQ(comparison.a.bytes, Bytes{});
  EXPECT_GT(comparison.b.bytes, Bytes{});
  for (const ComparedGroup& group : comparison.groups) EXPECT_EQ(group.change(), Change::is_new);
}

TEST_F(TwoRecordings, AColumnShowsTheMostOfItsPartOfAStep) {
  const Subject& subject = a_->subject(0);
  const auto steps = static_cast<double>(subject.of.steps.size());
  for (const int width : {1, 7, 300, 5000}) {
    const std::vector<int64_t> columns = step_columns(subject, 0, steps, width);
    ASSERT_EQ(columns.size(), static_cast<size_t>(width));
    EXPECT_EQ(*std::ranges::max_element(columns), subject.device.peak.value) << width;
  }
  // With one column for each step, a column shows the peak of its step.
  const std::vector<int64_t> each = step_columns(subject, 0, steps, static_cast<int>(steps));
  for (size_t i = 0; i < each.size(); ++i) {
    EXPECT_EQ(each[i], subject.timeline.largest(subject.of.bands.steps[i]).bytes.value) << i;
  }
  // Columns after the last step are empty.
  const std::vector<int64_t> beyond = step_columns(subject, 0, 2 * steps, 10);
  EXPECT_GE(beyond[4], 0);
  EXPECT_EQ(std::vector<int64_t>(beyond.begin() + 5, beyond.end()), std::vector<int64_t>(5, -1));
}

TEST_F(TwoRecordings, ATimeHasItsPlaceOnTheAxisOfSteps) {
  const Subject& subject = a_->subject(0);
  const std::vector<Interval>& steps = subject.of.bands.steps;
  EXPECT_EQ(step_of(subject, steps[2].begin), 2);
  const Time middle{(steps[1].begin.ns + steps[1].end.ns) / 2};
  EXPECT_NEAR(step_of(subject, middle), 1.5, 1e-6);
}

TEST_F(TwoRecordings, TheTableKeepsTheRulesOfAModel) {
  CompareTable table;
  CompareFilter filter(table);
  const Tester of_table(&table, Tester::FailureReportingMode::Fatal),
      of_filter(&filter, Tester::FailureReportingMode::Fatal);
  table.show(compared_by(peak::By::module).groups);
  ASSERT_GT(table.rowCount(), 3);
  EXPECT_EQ(table.rowCount(), filter.rowCount());
  const QString name = QString::fromStdString(table.at(1).name);
  filter.set_filter(name.toUpper());
  EXPECT_GE(filter.rowCount(), 1);
  EXPECT_EQ(filter.index(0, CompareTable::group).data().toString().contains(name), true);
  filter.set_filter("increased nonsense");
  EXPECT_EQ(filter.rowCount(), 0);
  filter.set_filter({});
  filter.sort(CompareTable::difference, Qt::AscendingOrder);
  for (int row = 1; row < filter.rowCount(); ++row) {
    EXPECT_LE(filter.index(row - 1, CompareTable::difference).data(CompareTable::sort_role).toLongLong(),
              filter.index(row, CompareTable::difference).data(CompareTable::sort_role).toLongLong());
  }
  table.show({});
  EXPECT_EQ(filter.rowCount(), 0);
}

TEST(CompareTable, SaysChangesInWords) {
  CompareTable table;
  table.show(compare::compared({{"x", Bytes{4096}, 2}, {"gone", Bytes{1024}, 1}}, {{"x", Bytes{1024}, 1}}));
  const auto text = [&](int row, int column) { return table.index(row, column).data().toString(); };
  EXPECT_EQ(text(0, CompareTable::group), "x");
  EXPECT_EQ(text(0, CompareTable::difference), "\u22123.0 KiB");
  EXPECT_EQ(text(0, CompareTable::change), "decreased");
  EXPECT_EQ(text(0, CompareTable::a), "4.0 KiB");
  EXPECT_EQ(text(0, CompareTable::b), "1.0 KiB");
  EXPECT_EQ(text(0, CompareTable::allocations), "2 \u2192 1");
  EXPECT_EQ(text(1, CompareTable::change), "removed");
  EXPECT_EQ(text(1, CompareTable::b), "");
}

}  // namespace
}  // namespace tapelens::gui
