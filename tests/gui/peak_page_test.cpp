// The peak page over a recording: a choice in one part applies to all parts, and to the session.
#include "gui/peak/peak_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <algorithm>

#include "gui/models/folded_rows.h"
#include "gui/models/peak_table.h"
#include "gui/peak/groups_view.h"
#include "gui/peak/peak_list.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/source_pane.h"
#include "gui/widgets/table.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

class OnPeakPage : public ::testing::Test {
 protected:
  void SetUp() override {
    page_.resize(1280, 720);
    page_.show();
    session_.open(testing::synthetic_recording());
    ASSERT_TRUE(QTest::qWaitFor([&] { return session_.moment() != nullptr; }, 20'000));
    QApplication::processEvents();
    view_ = page_.findChild<QTableView*>();
  }
  bool says(const QString& text) const {
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(text)) return true;
    return false;
  }
  // Counts those in groups, which are one row.
  int allocations_shown() const {
    int count = 0;
    for (int row = 0; row < view_->model()->rowCount(); ++row)
      count += view_->model()->index(row, 0).data(FoldedRows::count_role).toInt();
    return count;
  }
  uint32_t selected() const { return view_->currentIndex().data(PeakTable::allocation_role).toUInt(); }
  uint32_t looked_at() const { return session_.view().allocation.value; }

  Session session_;
  PeakPage page_{session_};
  QTableView* view_ = nullptr;
};

TEST_F(OnPeakPage, SaysWhatThePeakWas) {
  const report::Peak& peak = session_.moment()->described;
  EXPECT_TRUE(says(headline_of(peak, session_.subject().name, true)));
  EXPECT_TRUE(says("on cpu at the peak, "));
  EXPECT_EQ(page_.table()->rowCount(), static_cast<int>(peak.allocations.size()));
  EXPECT_EQ(allocations_shown(), static_cast<int>(peak.allocations.size()));
}

TEST_F(OnPeakPage, BeforeOneIsChosenTheLargestIsShown) {
  EXPECT_EQ(looked_at(), 0U);
  EXPECT_EQ(view_->currentIndex().row(), 0);
  // Equal allocations may sum up to more than the largest one.
  EXPECT_GE(view_->currentIndex().siblingAtColumn(PeakTable::bytes).data(PeakTable::sort_role).toLongLong(),
            std::ranges::max(session_.moment()->described.allocations, {}, &report::Allocation::bytes).bytes.value);
  EXPECT_FALSE(page_.findChild<SourcePane*>()->stack().empty());
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {},
                    view_->visualRect(view_->model()->index(0, PeakTable::what)).center());
  EXPECT_NE(looked_at(), 0U);
  EXPECT_EQ(looked_at(), selected());
}

TEST_F(OnPeakPage, ARowIsSelectedEverywhere) {
  const QModelIndex row = view_->model()->index(4, PeakTable::what);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, view_->visualRect(row).center());
  EXPECT_EQ(looked_at(), row.data(PeakTable::allocation_role).toUInt());
  const auto* groups = page_.findChild<GroupsView*>();
  const int source_row = page_.findChild<PeakList*>()->table().row_of(looked_at());
  EXPECT_TRUE(groups->tree().has(page_.findChild<IcicleView*>()->current(), source_row));
  EXPECT_FALSE(page_.findChild<SourcePane*>()->stack().empty());
  QTest::keyClick(view_, Qt::Key_Down);
  EXPECT_EQ(looked_at(), selected());
  EXPECT_EQ(view_->currentIndex().row(), 5);
  session_.back();
  EXPECT_EQ(selected(), row.data(PeakTable::allocation_role).toUInt());
}

TEST_F(OnPeakPage, EqualRowsOpenByKeyAndByTheirMark) {
  QAbstractItemModel& rows = *view_->model();
  int group = -1;
  for (int row = 0; row < rows.rowCount() && group < 0; ++row)
    if (rows.index(row, 0).data(FoldedRows::count_role).toInt() > 1) group = row;
  ASSERT_GE(group, 0);
  const int all = rows.rowCount(), members = rows.index(group, 0).data(FoldedRows::count_role).toInt();
  const QModelIndex at = rows.index(group, PeakTable::what);
  view_->setFocus();
  view_->setCurrentIndex(at);
  QTest::keyClick(view_, Qt::Key_Right);
  EXPECT_EQ(rows.rowCount(), all + members);
  QTest::keyClick(view_, Qt::Key_Down);
  QTest::keyClick(view_, Qt::Key_Down);
  EXPECT_EQ(view_->currentIndex().row(), group + 2);
  EXPECT_EQ(looked_at(), selected());
  view_->setCurrentIndex(at);
  QTest::keyClick(view_, Qt::Key_Left);
  EXPECT_EQ(rows.rowCount(), all);
  view_->scrollTo(at);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, view_->visualRect(at).topLeft() + QPoint(4, 4));
  EXPECT_EQ(rows.rowCount(), all + members);
}

TEST_F(OnPeakPage, ModuleAndOperatorAreOnAScreenOf1280Pixels) {
  for (const PeakTable::Column column : {PeakTable::bytes, PeakTable::what, PeakTable::module, PeakTable::op}) {
    const QRect cell = view_->visualRect(view_->model()->index(0, column));
    EXPECT_TRUE(view_->viewport()->rect().contains(cell)) << "column " << int{column} << " is cut";
  }
}

TEST_F(OnPeakPage, APieceSelectsItsBiggestAllocation) {
  auto* icicle = page_.findChild<IcicleView*>();
  icicle->setFocus();
  QTest::keyClick(icicle, Qt::Key_Down);
  const GroupTree::Node& node = icicle->tree().node(icicle->current());
  EXPECT_EQ(looked_at(), session_.moment()->described.allocations[node.biggest].id);
  EXPECT_EQ(selected(), looked_at());
  EXPECT_NE(icicle->current(), GroupTree::kRoot);  // the current group is the outermost one
  EXPECT_EQ(icicle->tree().node(icicle->current()).depth, 1U);
}

TEST_F(OnPeakPage, AnotherPagesAllocationIsScrolledTo) {
  ViewState next = session_.view();
  const auto& all = session_.moment()->described.allocations;
  next.allocation = AllocationId{all[all.size() / 2].id};
  session_.look(next);
  EXPECT_EQ(selected(), looked_at());
  EXPECT_TRUE(view_->viewport()->rect().intersects(view_->visualRect(view_->currentIndex())));
}

TEST_F(OnPeakPage, TheFilterIsTheSessions) {
  auto* field = page_.findChild<QLineEdit*>();
  page_.find();
  QTest::keyClicks(field, "gelu");
  const int shown = allocations_shown();
  EXPECT_GT(shown, 0);
  EXPECT_LT(shown, static_cast<int>(session_.moment()->described.allocations.size()));
  EXPECT_TRUE(QTest::qWaitFor([&] { return session_.view().filter == "gelu"; }, 2000));
  EXPECT_EQ(page_.findChild<GroupsView*>()->tree().node(GroupTree::kRoot).allocations, static_cast<uint64_t>(shown));
  ViewState next = session_.view();
  next.filter = "nowhere at all";
  session_.look(next);
  EXPECT_EQ(field->text(), "nowhere at all");
  EXPECT_EQ(view_->model()->rowCount(), 0);
  EXPECT_TRUE(says("No allocation matches the filter."));
  field->selectAll();
  QTest::keyClick(field, Qt::Key_Delete);
  EXPECT_TRUE(QTest::qWaitFor([&] { return session_.view().filter.isEmpty(); }, 2000));
  EXPECT_EQ(allocations_shown(), static_cast<int>(session_.moment()->described.allocations.size()));
}

TEST_F(OnPeakPage, AZoomedGroupIsAllTheTableHas) {
  auto* icicle = page_.findChild<IcicleView*>();
  icicle->setFocus();
  QTest::keyClick(icicle, Qt::Key_Down);
  QTest::keyClick(icicle, Qt::Key_Return);
  EXPECT_EQ(static_cast<uint64_t>(allocations_shown()), icicle->tree().node(icicle->zoomed()).allocations);
  QTest::keyClick(icicle, Qt::Key_Backspace);
  EXPECT_EQ(allocations_shown(), static_cast<int>(session_.moment()->described.allocations.size()));
}

TEST_F(OnPeakPage, AnotherMomentIsShownAndLeftAgain) {
  auto* to_peak = page_.findChild<QPushButton*>();
  EXPECT_FALSE(to_peak->isVisible());
  ViewState next = session_.view();
  next.at = session_.subject().timeline.at(Time{session_.subject().device.when.time.ns / 2});
  session_.look(next);
  EXPECT_TRUE(says("Working out what was alive"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return session_.moment() != nullptr; }, 20'000));
  EXPECT_FALSE(says("at the peak, "));
  EXPECT_FALSE(says("Working out what was alive"));
  ASSERT_TRUE(to_peak->isVisible());
  QTest::mouseClick(to_peak, Qt::LeftButton);
  EXPECT_FALSE(session_.view().at.has_value());
  ASSERT_TRUE(QTest::qWaitFor([&] { return session_.moment() != nullptr; }, 20'000));
  EXPECT_TRUE(says("at the peak, "));
}

TEST_F(OnPeakPage, ReturnShowsTheAllocationInTheTimeline) {
  view_->setFocus();
  view_->selectRow(2);
  QTest::keyClick(view_, Qt::Key_Return);
  EXPECT_EQ(session_.view().page, PageId::timeline);
  EXPECT_EQ(looked_at(), selected());
}

TEST_F(OnPeakPage, RowsAreCopied) {
  view_->selectRow(0);
  for (QAction* action : view_->actions()) {
    if (action->text() == "Copy row") action->trigger();
  }
  EXPECT_EQ(QGuiApplication::clipboard()->text(), row_text(*view_->model(), 0));
  EXPECT_EQ(QGuiApplication::clipboard()->text().count('\t'), PeakTable::kColumns - 1);
  for (QAction* action : view_->actions()) {
    if (action->text() == "Copy all as CSV") action->trigger();
  }
  const QStringList lines = QGuiApplication::clipboard()->text().split("\r\n");
  EXPECT_EQ(lines.size(), page_.table()->rowCount() + 2);
  EXPECT_TRUE(lines[0].startsWith("Bytes,What,Category,"));
  EXPECT_TRUE(lines[1].startsWith(QString::number(session_.moment()->described.allocations[0].bytes.value) + ','));
}

TEST_F(OnPeakPage, ItsStateIsRestored) {
  auto* groups = page_.findChild<GroupsView*>();
  groups->set_groupings({{peak::By::category, peak::By::source}, true, true});
  groups->show_as_tree(true);
  view_->setColumnWidth(PeakTable::what, 321);
  const QByteArray state = page_.save_state();
  PeakPage other(session_);
  other.restore_state("nonsense");
  other.restore_state(state);
  EXPECT_EQ(other.findChild<GroupsView*>()->groupings(), groups->groupings());
  EXPECT_TRUE(other.findChild<GroupsView*>()->shows_tree());
  EXPECT_EQ(other.findChild<QTableView*>()->columnWidth(PeakTable::what), 321);
}

TEST_F(OnPeakPage, IsEmptyWhenTheRecordingIsClosed) {
  session_.close();
  EXPECT_EQ(view_->model()->rowCount(), 0);
  EXPECT_FALSE(says("at the peak"));
  page_.grab();
}

}  // namespace
}  // namespace tapelens::gui
