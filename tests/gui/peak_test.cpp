// The table of live allocations: texts, sorting, filtering.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QElapsedTimer>
#include <algorithm>

#include "analyzer/text/names.h"
#include "gui/models/peak_table.h"
#include "gui/models/session.h"
#include "tests/gui/peak_random.h"

namespace tapelens::gui {
namespace {

using testing::RandomMoment;
using Mode = QAbstractItemModelTester::FailureReportingMode;

report::Allocation allocation(uint32_t id, int64_t bytes, report::Holder holder) {
  report::Allocation a;
  a.id = id;
  a.bytes = {bytes};
  a.category = holder.kind;
  a.holders = {std::move(holder)};
  return a;
}

QString shown(const QAbstractItemModel& model, int row, int column) {
  return model.index(row, column).data().toString();
}

TEST(PeakTable, SaysWhatEachAllocationIs) {
  auto peak = std::make_shared<report::Peak>();
  peak->time = model::Time{5'000'000};
  report::Holder save{peak::HolderKind::save, "ConvolutionBackward0", "input", "", "", 2};
  peak->allocations.push_back(allocation(7, 3 << 20, save));
  peak->allocations[0].time = model::Time{2'000'000};
  peak->allocations[0].layout = "float32 [8, 64]";
  peak->allocations[0].holders.push_back({peak::HolderKind::op, "", "", "aten::relu", "", 0});
  peak->allocations.push_back(allocation(9, 100, {peak::HolderKind::gradient, "", "", "fc.weight", "", 0}));
  peak->allocations.push_back(allocation(10, 90, {peak::HolderKind::gradient, "MulBackward0", "", "", "", 0}));
  peak->allocations.push_back(
      allocation(11, 80, {peak::HolderKind::optimizer_state, "", "", "exp_avg", "fc.weight", 0}));
  peak->allocations.push_back(allocation(12, 70, {peak::HolderKind::program, "", "", "", "", 0}));
  peak->allocations.push_back(allocation(13, 60, {peak::HolderKind::parameter, "", "", "fc.bias", "", 0}));
  PeakTable table;
  const QAbstractItemModelTester tester(&table, Mode::Fatal);
  table.show(peak);
  ASSERT_EQ(table.rowCount(), 6);
  EXPECT_EQ(shown(table, 0, PeakTable::bytes), "3.0 MiB");
  EXPECT_EQ(shown(table, 0, PeakTable::what), "ConvolutionBackward0.input x2");
  EXPECT_EQ(shown(table, 0, PeakTable::category), "saved for backward");
  EXPECT_EQ(shown(table, 0, PeakTable::holders), "ConvolutionBackward0.input x2; temporary of aten::relu");
  EXPECT_EQ(shown(table, 0, PeakTable::shape), "float32 [8, 64]");
  EXPECT_EQ(shown(table, 0, PeakTable::age), "3.0 ms");
  EXPECT_EQ(shown(table, 1, PeakTable::what), "gradient of fc.weight");
  EXPECT_EQ(shown(table, 2, PeakTable::what), "gradient in flight from MulBackward0");
  EXPECT_EQ(shown(table, 3, PeakTable::what), "optimizer state exp_avg of fc.weight");
  EXPECT_EQ(shown(table, 4, PeakTable::what), "live tensor");
  EXPECT_EQ(shown(table, 5, PeakTable::what), "parameter fc.bias");
  EXPECT_EQ(table.index(0, PeakTable::bytes).data(PeakTable::sort_role).toLongLong(), 3 << 20);
  EXPECT_EQ(table.index(0, PeakTable::bytes).data(Qt::EditRole).toLongLong(), 3 << 20);
  EXPECT_EQ(table.index(1, 0).data(PeakTable::allocation_role).toUInt(), 9U);
  EXPECT_EQ(table.row_of(11), 3);
  EXPECT_EQ(table.row_of(8), -1);
  for (int column = 0; column < PeakTable::kColumns; ++column)
    EXPECT_FALSE(table.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
  table.show(nullptr);
  EXPECT_EQ(table.rowCount(), 0);
}

TEST(PeakTable, SortsNumbersAsNumbersAndTextWithoutItsCase) {
  RandomMoment moment;
  testing::fill(moment, 3, 300);
  PeakTable table;
  table.show(moment.peak);
  PeakRows rows(table);
  const QAbstractItemModelTester tester(&rows, Mode::Fatal);
  for (int column = 0; column < PeakTable::kColumns; ++column) {
    for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
      rows.sort(column, order);
      ASSERT_EQ(rows.rowCount(), table.rowCount());
      for (int row = 1; row < rows.rowCount(); ++row) {
        QVariant a = rows.index(row - 1, column).data(PeakTable::sort_role);
        QVariant b = rows.index(row, column).data(PeakTable::sort_role);
        if (order == Qt::DescendingOrder) std::swap(a, b);
        if (a.typeId() == QMetaType::QString) {
          EXPECT_FALSE(text::natural_less(b.toString().toLower().toStdString(), a.toString().toLower().toStdString()))
              << column;
        } else {
          EXPECT_LE(a.toLongLong(), b.toLongLong()) << column;
        }
      }
    }
  }
}

TEST(PeakRows, HasTheRowsWhoseTextMatches) {
  RandomMoment moment;
  testing::fill(moment, 5, 500);
  PeakTable table;
  table.show(moment.peak);
  PeakRows rows(table);
  rows.sort(PeakTable::bytes, Qt::DescendingOrder);
  const QAbstractItemModelTester tester(&rows, Mode::Fatal);
  for (const char* filter : {"", "conv", "CONV input", "layer1 relu", "  Net.fc   float32 ", "nowhere", "step",
                             "saved for backward", "p1", "optimizer"}) {
    rows.set_filter(QString::fromUtf8(filter));
    int expected = 0;
    for (int row = 0; row < table.rowCount(); ++row) {
      QStringList all;
      for (int column = 0; column < PeakTable::kColumns; ++column) all.append(shown(table, row, column));
      const bool wanted = matches(QString::fromUtf8(filter), all.join('\n'));
      expected += wanted;
      EXPECT_EQ(rows.matches_filter(row), wanted) << filter;
      EXPECT_EQ(rows.mapFromSource(table.index(row, 0)).isValid(), wanted) << filter;
    }
    EXPECT_EQ(rows.rowCount(), expected) << filter;
  }
}

TEST(PeakRows, AreThoseOfAGroupAndOfTheFilter) {
  RandomMoment moment;
  testing::fill(moment, 6, 100);
  PeakTable table;
  table.show(moment.peak);
  PeakRows rows(table);
  const QAbstractItemModelTester tester(&rows, Mode::Fatal);
  std::vector<bool> shown_rows(100);
  for (size_t i = 0; i < 10; ++i) shown_rows[i] = true;
  rows.set_shown(shown_rows);
  EXPECT_EQ(rows.rowCount(), 10);
  rows.set_filter("nowhere");
  EXPECT_EQ(rows.rowCount(), 0);
  rows.set_filter("");
  EXPECT_EQ(rows.rowCount(), 10);
  // A new moment resets the shown rows, because they were rows of the earlier moment.
  table.show(moment.peak);
  EXPECT_EQ(rows.rowCount(), 100);
}

TEST(PeakRows, FilterIsFastWithAHundredThousandAllocations) {
  RandomMoment moment;
  testing::fill(moment, 7, 100'000);
  PeakTable table;
  table.show(moment.peak);
  PeakRows rows(table);
  rows.sort(PeakTable::bytes, Qt::DescendingOrder);
  ASSERT_EQ(rows.rowCount(), 100'000);
  for (int row = 0; row < table.rowCount(); ++row) table.haystack(row);  // the page does this while it is idle
  for (const char* filter : {"c", "conv", "conv layer1", "conv", "", "nowhere"}) {
    QElapsedTimer timer;
    timer.start();
    rows.set_filter(QString::fromUtf8(filter));
    EXPECT_LE(rows.rowCount(), 100'000);
    EXPECT_LT(timer.elapsed(), 1000) << filter;  // 20 to 50 ms on an idle machine, without sanitizers
  }
}

}  // namespace
}  // namespace tapelens::gui
