// The memory map with the mouse and the keyboard, and its numbers, compared with the events of the recording.
#include "gui/segments/segments_page.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QTest>
#include <QWheelEvent>
#include <set>

#include "gui/models/facts.h"
#include "gui/models/segments_table.h"
#include "gui/segments/map_view.h"
#include "gui/widgets/theme.h"
#include "tests/gui/support/device_recording.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

class MemoryMap : public ::testing::Test {
 protected:
  void SetUp() override {
    set_scheme(Scheme::light);
    page_.resize(1280, 680);
    page_.show();
  }
  void open(const QString& path) {
    session_.open(path);
    const auto is_open = [&] {
      return session_.document() != nullptr && session_.document()->facts().path == path &&
             session_.has(Part::advice) && session_.moment() != nullptr;
    };
    ASSERT_TRUE(QTest::qWaitFor(is_open, 60'000));
    QApplication::processEvents();
    page_.take_focus();
  }
  void look_at(Time time) {
    ViewState next = session_.view();
    next.at = session_.subject().timeline.at(time);
    next.at->time = time;
    session_.look(next);
    ASSERT_TRUE(QTest::qWaitFor([&] { return session_.moment() != nullptr; }, 10'000));
    QApplication::processEvents();
  }
  bool says(const QString& text) {
    for (const QLabel* label : page_.findChildren<QLabel*>()) {
      if (label->isVisible() && label->text().contains(text)) return true;
    }
    return false;
  }
  QImage grabbed() { return map().viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32); }
  MapView& map() { return page_.map(); }
  AllocationId chosen() { return session_.view().allocation; }
  const std::vector<peak::SegmentAt>& segments() { return session_.moment()->segments; }

  testing::DeviceRecording recording_;
  Session session_;
  SegmentsPage page_{session_};
};

TEST_F(MemoryMap, TotalsAreThoseOfTheAllocator) {
  open(recording_.path());
  look_at(Time{static_cast<int64_t>(recording_.oom_time())});
  const SegmentTotals t = totals_of(segments());
  EXPECT_EQ((t.allocated + t.waiting).value, static_cast<int64_t>(recording_.allocated()));
  EXPECT_EQ(t.waiting, Bytes{14 << 20}) << "the copy of the last batch";
  EXPECT_EQ(t.reserved.value, static_cast<int64_t>(recording_.reserved()));
  EXPECT_EQ(t.segments, recording_.segments());
  EXPECT_EQ(t.unused, t.reserved - t.allocated - t.waiting);
  EXPECT_TRUE(says(totals_words(t)));
  // The report has the same totals.
  const report::Reserved& reserved = *session_.moment()->described.reserved;
  EXPECT_EQ(reserved.allocated, t.allocated);
  EXPECT_EQ(reserved.waiting, t.waiting);
  EXPECT_EQ(reserved.reserved, t.reserved);
  EXPECT_EQ(reserved.largest_hole, t.largest_hole);
}

TEST_F(MemoryMap, ABlockIsSelectedByAClickAndToldOf) {
  open(recording_.path());
  const AllocationId id = segments()[1].blocks.front().allocation;
  const QRect where = map().rect_of(id);
  ASSERT_FALSE(where.isEmpty());
  const QImage before = grabbed();
  QTest::mouseClick(map().viewport(), Qt::LeftButton, {}, where.center());
  EXPECT_EQ(chosen(), id);
  EXPECT_NE(grabbed(), before);
  const auto facts = facts_of(*session_.document(), session_.subject(), id, true);
  EXPECT_TRUE(says(facts.block.section(" at ", 0, 0)));
  EXPECT_TRUE(says("Made by " + facts.op));
  EXPECT_TRUE(map().accessibleDescription().contains(facts.block)) << "for who does not see it";
  // A click outside of all segments selects nothing.
  QTest::mouseClick(map().viewport(), Qt::LeftButton, {}, QPoint(2, 2));
  EXPECT_FALSE(chosen());
  QTest::mouseDClick(map().viewport(), Qt::LeftButton, {}, where.center());
  EXPECT_EQ(session_.view().page, PageId::timeline);
  EXPECT_EQ(chosen(), id);
}

TEST_F(MemoryMap, ArrowsWalkAllBlocksByAddress) {
  open(recording_.path());
  std::vector<uint32_t> wanted;
  for (const peak::SegmentAt& segment : segments()) {
    for (const peak::BlockAt& block : segment.blocks) wanted.push_back(block.allocation.value);
  }
  ASSERT_GT(wanted.size(), 15u);
  std::vector<uint32_t> walked;
  for (size_t i = 0; i < wanted.size(); ++i) {
    QTest::keyClick(&map(), Qt::Key_Right);
    walked.push_back(chosen().value);
    EXPECT_FALSE(map().rect_of(chosen()).isEmpty()) << "it is seen";
  }
  EXPECT_EQ(walked, wanted);
  QTest::keyClick(&map(), Qt::Key_Right);
  EXPECT_EQ(chosen().value, wanted.back());
  QTest::keyClick(&map(), Qt::Key_Left);
  EXPECT_EQ(chosen().value, wanted[wanted.size() - 2]);
  const QRect here = map().rect_of(chosen());
  QTest::keyClick(&map(), Qt::Key_Up);
  EXPECT_LT(map().rect_of(chosen()).top(), here.top());
  QTest::keyClick(&map(), Qt::Key_Escape);
  EXPECT_FALSE(chosen());
}

TEST_F(MemoryMap, ItFitsAtFirstAndIsScrolledWhenItIsZoomed) {
  open(recording_.path());
  EXPECT_EQ(map().verticalScrollBar()->maximum(), 0);
  const int rows = map().map()->rows();
  const AllocationId id = segments()[2].blocks.front().allocation;
  const QPoint place = map().rect_of(id).center();
  for (int i = 0; i < 6; ++i) {
    QWheelEvent event(place, map().mapToGlobal(place), {}, QPoint(0, 120), Qt::NoButton, Qt::ControlModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(map().viewport(), &event);
  }
  EXPECT_GT(map().map()->rows(), 2 * rows);
  EXPECT_GT(map().verticalScrollBar()->maximum(), 0);
  EXPECT_FALSE(map().rect_of(id).isEmpty()) << "the block under the cursor stays visible";
  for (int i = 0; i < 60; ++i) QTest::keyClick(&map(), Qt::Key_Plus);
  EXPECT_LT(map().map()->rows(), 100'000);
  QTest::keyClick(&map(), Qt::Key_F);
  EXPECT_EQ(map().map()->rows(), rows);
}

TEST_F(MemoryMap, TheTableHasEachSegmentAndShowsItInTheMap) {
  open(recording_.path());
  auto* view = page_.findChild<QTableView*>();
  ASSERT_EQ(view->model()->rowCount(), static_cast<int>(segments().size()));
  qlonglong bytes = 0, unused = 0;
  std::set<QString> pools;
  for (int row = 0; row < view->model()->rowCount(); ++row) {
    const auto cell = [&](int column) { return view->model()->index(row, column); };
    bytes += cell(SegmentsTable::bytes).data(Qt::EditRole).toLongLong();
    unused += cell(SegmentsTable::unused).data(Qt::EditRole).toLongLong();
    pools.insert(cell(SegmentsTable::where).data().toString());
  }
  const SegmentTotals t = totals_of(segments());
  EXPECT_EQ(bytes, t.reserved.value);
  EXPECT_EQ(unused, t.unused.value);
  EXPECT_EQ(pools, (std::set<QString>{"default stream", "stream 0x7f20"}));
  const QImage before = grabbed();
  view->selectRow(1);
  EXPECT_NE(grabbed(), before);
  view->sortByColumn(SegmentsTable::unused, Qt::DescendingOrder);
  EXPECT_GE(view->model()->index(0, SegmentsTable::unused).data(Qt::EditRole).toLongLong(),
            view->model()->index(1, SegmentsTable::unused).data(Qt::EditRole).toLongLong());
}

TEST_F(MemoryMap, ASearchPalesWhatItDoesNotFind) {
  open(recording_.path());
  const QImage before = grabbed();
  page_.find();
  QTest::keyClicks(QApplication::focusWidget(), "layers.2");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return session_.found() != nullptr && session_.found()->filter == "layers.2"; }, 10'000));
  EXPECT_NE(grabbed(), before);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_TRUE(map().hasFocus());
}

TEST_F(MemoryMap, WithoutSegmentsOneSentenceSaysWhy) {
  open(testing::synthetic_recording(12'000));
  EXPECT_TRUE(says("cpu has no map: only the allocator of a CUDA device reports segments."));
  EXPECT_EQ(page_.table(), nullptr);
  EXPECT_EQ(QApplication::focusWidget(), &page_);
  page_.find();
  EXPECT_EQ(QApplication::focusWidget(), page_.findChild<QLineEdit*>());
  trace::SpoolBuilder silent;
  silent.information("cuda_allocator", "cudaMallocAsync").op("aten::mm").alloc(0x10, 64).end_op();
  const auto sealed = silent.seal_all();
  open(QString::fromStdString(silent.folder() / "run.tapelens"));
  EXPECT_TRUE(says("CUDA memory is not recorded: the program's CUDA allocator is cudaMallocAsync"));
  open(recording_.path());
  EXPECT_NE(page_.table(), nullptr);
  look_at(Time{1});
  EXPECT_TRUE(says("Nothing was reserved on cuda:0 at this moment."));
  for (auto* button : page_.findChildren<QPushButton*>()) {
    if (button->text() == "Back to the peak") QTest::mouseClick(button, Qt::LeftButton);
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return session_.moment() != nullptr; }, 10'000));
  EXPECT_TRUE(map().isVisible());
}

}  // namespace
}  // namespace tapelens::gui
