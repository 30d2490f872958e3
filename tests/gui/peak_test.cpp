// The table of live allocations: texts, sorting, filtering.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QElapsedTimer>
#include <algorithm>

#include "analyzer/text/names.h"
#include "gui/models/folded_rows.h"
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

// Twelve equal saves of four layers and three heads, one gradient that is larger than each, and one save of another
// size.
std::shared_ptr<report::Peak> layers() {
  auto peak = std::make_shared<report::Peak>();
  uint32_t id = 1;
  const auto add = [&](const std::string& module, int64_t bytes, report::Holder holder) {
    peak->allocations.push_back(allocation(id++, bytes, std::move(holder)));
    peak->allocations.back().module = module;
    peak->allocations.back().op = "aten::gelu";
    peak->allocations.back().source = "model.py:5 forward";
  };
  const report::Holder save{peak::HolderKind::save, "GeluBackward0", "self", "", "", 1};
  for (int layer = 0; layer < 4; ++layer) {
    for (int head = 0; head < 3; ++head)
      add("Net.layers." + std::to_string(layer) + ".heads." + std::to_string(head), 1000, save);
  }
  add("Net.layers.0.heads.0", 5000, {peak::HolderKind::gradient, "", "", "fc.weight", "", 0});
  add("Net.layers.0.heads.0", 1001, save);
  return peak;
}

TEST(FoldedRows, EqualAllocationsAreOneRowThatOpens) {
  PeakTable table;
  PeakRows rows(table);
  FoldedRows folded(table, rows);
  const QAbstractItemModelTester tester(&folded, Mode::Fatal);
  table.show(layers());
  folded.sort(PeakTable::bytes, Qt::DescendingOrder);
  ASSERT_EQ(folded.rowCount(), 3);
  EXPECT_EQ(rows.rowCount(), 14);
  // The sum of twelve is larger than the gradient.
  EXPECT_EQ(shown(folded, 0, PeakTable::what), "▸ x12  GeluBackward0.self");
  EXPECT_EQ(shown(folded, 0, PeakTable::bytes), "11.7 KiB");
  EXPECT_EQ(folded.index(0, PeakTable::bytes).data(PeakTable::sort_role).toLongLong(), 12'000);
  EXPECT_EQ(shown(folded, 0, PeakTable::module), "Net.layers.{0-3}.heads.{0-2}");
  EXPECT_EQ(shown(folded, 0, PeakTable::op), "aten::gelu");
  EXPECT_EQ(folded.index(0, 0).data(FoldedRows::count_role).toInt(), 12);
  EXPECT_FALSE(folded.is_group(1));
  EXPECT_EQ(shown(folded, 1, PeakTable::what), "gradient of fc.weight");

  const QPersistentModelIndex last = folded.index(2, 0);
  folded.set_open(0, true);
  ASSERT_EQ(folded.rowCount(), 15);
  EXPECT_EQ(last.row(), 14);
  EXPECT_EQ(shown(folded, 0, PeakTable::what), "▾ x12  GeluBackward0.self");
  EXPECT_EQ(shown(folded, 1, PeakTable::what).trimmed(), "GeluBackward0.self");
  QStringList modules;
  for (int row = 1; row <= 12; ++row) modules << shown(folded, row, PeakTable::module);
  EXPECT_EQ(modules.removeDuplicates(), 0);
  folded.sort(PeakTable::bytes, Qt::AscendingOrder);
  EXPECT_EQ(last.row(), 0);
  folded.sort(PeakTable::bytes, Qt::DescendingOrder);
  folded.set_open(0, false);
  EXPECT_EQ(folded.rowCount(), 3);
  EXPECT_EQ(last.row(), 2);
}

TEST(FoldedRows, AllocationsThatAreSoughtAreShown) {
  PeakTable table;
  PeakRows rows(table);
  FoldedRows folded(table, rows);
  table.show(layers());
  folded.sort(PeakTable::bytes, Qt::DescendingOrder);
  const auto row_of = [&](uint32_t id) {
    return folded.mapFromSource(rows.mapFromSource(table.index(table.row_of(id), 0))).row();
  };
  folded.reveal(rows.mapFromSource(table.index(table.row_of(1), 0)));
  EXPECT_EQ(folded.rowCount(), 3);  // the row of the group is the first one's
  EXPECT_EQ(row_of(1), 0);
  EXPECT_EQ(row_of(7), 0);
  folded.reveal(rows.mapFromSource(table.index(table.row_of(7), 0)));
  EXPECT_EQ(folded.rowCount(), 15);
  EXPECT_EQ(folded.index(row_of(7), 0).data(PeakTable::allocation_role).toUInt(), 7U);
}

TEST(FoldedRows, AFilterLeavesPartsOfAGroup) {
  PeakTable table;
  PeakRows rows(table);
  FoldedRows folded(table, rows);
  const QAbstractItemModelTester tester(&folded, Mode::Fatal);
  table.show(layers());
  rows.set_filter("layers.2 gelubackward0");
  ASSERT_EQ(folded.rowCount(), 1);
  EXPECT_EQ(shown(folded, 0, PeakTable::what), "▸ x3  GeluBackward0.self");
  EXPECT_EQ(shown(folded, 0, PeakTable::module), "Net.layers.2.heads.{0-2}");
  using Names = std::vector<std::string>;
  EXPECT_EQ(folded.modules(0), Names{"Net.layers.2.heads.{0-2}"});
  rows.set_filter("gelubackward0 -\"heads.0\"");
  EXPECT_EQ(folded.modules(0), Names{"Net.layers.{0-3}.heads.{1,2}"});
  rows.set_filter("gelubackward0 -\"layers.0.heads.0\"");
  EXPECT_EQ(shown(folded, 0, PeakTable::module), "Net.layers.*.heads.*");
  EXPECT_EQ(folded.modules(0), (Names{"Net.layers.0.heads.{1,2}", "Net.layers.{1-3}.heads.{0-2}"}));
  rows.set_filter("");
  EXPECT_EQ(folded.rowCount(), 3);
  table.show(nullptr);
  EXPECT_EQ(folded.rowCount(), 0);
}

TEST(FoldedRows, AHundredThousandAllocationsAreFoldedAtOnce) {
  RandomMoment moment;
  testing::fill(moment, 7, 100'000);
  PeakTable table;
  PeakRows rows(table);
  FoldedRows folded(table, rows);
  QElapsedTimer timer;
  timer.start();
  table.show(moment.peak);
  folded.sort(PeakTable::bytes, Qt::DescendingOrder);
  EXPECT_LT(timer.elapsed(), 5000);
  int count = 0;
  for (int row = 0; row < folded.rowCount(); ++row) count += folded.index(row, 0).data(FoldedRows::count_role).toInt();
  EXPECT_EQ(count, 100'000);
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
