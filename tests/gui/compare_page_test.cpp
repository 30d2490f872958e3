// The page that compares two recordings, in use.
#include "gui/compare/compare_page.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDropEvent>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "analyzer/text/format.h"
#include "gui/compare/steps_curve.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/theme.h"
#include "tests/gui/advice_recording.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

class OnComparePage : public ::testing::Test {
 protected:
  void SetUp() override {
    page_.resize(1280, 720);
    page_.show();
    session_.open(testing::synthetic_recording(20'000));
    ASSERT_TRUE(QTest::qWaitFor([&] { return session_.document() != nullptr; }, 20'000));
  }
  void compare_with(const QString& path) {
    page_.open_other(path);
    ASSERT_TRUE(QTest::qWaitFor([&] { return page_.other().comparison() != nullptr; }, 20'000));
    QApplication::processEvents();
  }
  void compare() { compare_with(testing::synthetic_recording(40'000)); }
  bool says(const QString& text) const {
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(text)) return true;
    return false;
  }
  bool soon_compares(std::optional<uint32_t> step) const {
    return QTest::qWaitFor([&] { return page_.other().comparison() != nullptr && page_.other().step() == step; },
                           10'000);
  }
  QComboBox* box(const QString& name) const {
    for (QComboBox* made : page_.findChildren<QComboBox*>())
      if (made->accessibleName().startsWith(name)) return made;
    return nullptr;
  }
  // The sum of the bytes in a column of the table.
  int64_t sum(int column) const {
    int64_t all = 0;
    for (int row = 0; row < table().rowCount(); ++row) {
      all += table().index(row, column).data(CompareTable::sort_role).toLongLong();
    }
    return all;
  }
  const QAbstractItemModel& table() const { return *page_.findChild<QTableView*>()->model(); }

  Session session_;
  ComparePage page_{session_};
};

TEST_F(OnComparePage, RowsAndPiecesHaveAMenu) {
  compare();
  const auto entries = [](QWidget& on, const QPoint& place, const QString& chosen) {
    QContextMenuEvent event(QContextMenuEvent::Mouse, place, on.mapToGlobal(place));
    QApplication::sendEvent(&on, &event);
    QStringList all;
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (menu == nullptr) return all;
    for (QAction* entry : menu->actions()) {
      all << entry->text();
      if (entry->text().startsWith(chosen)) entry->trigger();
    }
    menu->close();
    QApplication::processEvents();
    return all;
  };
  QComboBox* by = box("The key");
  by->setCurrentIndex(by->findData(static_cast<int>(peak::By::module)));
  Q_EMIT by->activated(by->currentIndex());
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.other().comparison() != nullptr; }, 10'000));
  auto* view = page_.findChild<QTableView*>();
  int row = 0;
  while (row < table().rowCount() && table().index(row, CompareTable::group).data().toString().startsWith('(')) ++row;
  const QString module = table().index(row, CompareTable::group).data().toString();
  const QPoint cell = view->visualRect(table().index(row, CompareTable::group)).center();
  EXPECT_TRUE(entries(*view->viewport(), cell, "Copy row").contains("Hide module " + module));
  EXPECT_TRUE(QApplication::clipboard()->text().contains(module));
  entries(*view->viewport(), cell, "Hide module");
  EXPECT_EQ(session_.view().filter, "-\"" + module + "\"");
  for (int at = 0; at < table().rowCount(); ++at)
    EXPECT_NE(table().index(at, CompareTable::group).data().toString(), module);

  auto* icicle = page_.findChild<IcicleView*>();
  const QStringList piece = entries(*icicle->viewport(), {20, 5}, "Copy the description");
  EXPECT_TRUE(piece.contains("Clear the filter")) << piece.join('\n').toStdString();
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith("Modules\n"));
}

TEST_F(OnComparePage, AsksForTheOtherRecording) {
  EXPECT_TRUE(says("with another recording"));
  EXPECT_FALSE(page_.findChild<QTableView*>()->isVisible());
  EXPECT_FALSE(page_.grab().isNull());
}

TEST_F(OnComparePage, RecordingsOfDifferentProgramsAreSaidToBe) {
  const testing::AdviceRecording other("python3 /home/me/other.py --name 'two words'"), same("python3 /a/train.py -x");
  compare_with(other.path());
  EXPECT_TRUE(says("Different programs (train.py, other.py)"));
  compare_with(same.path());
  EXPECT_FALSE(says("Different programs"));
}

TEST_F(OnComparePage, TheHeadlineAndTheTableSayTheSame) {
  compare();
  const Subject &a = session_.subject(), &b = page_.other().subject();
  EXPECT_EQ(sum(CompareTable::a), a.device.peak.value);
  EXPECT_EQ(sum(CompareTable::b), b.device.peak.value);
  EXPECT_EQ(sum(CompareTable::difference), b.device.peak.value - a.device.peak.value);
  const QString now = QString::fromStdString(text::bytes_text(b.device.peak));
  EXPECT_TRUE(says(a.device.peak == b.device.peak ? "B's peak is the same: " + now : ": " + now + " instead of "));
  EXPECT_FALSE(page_.grab().isNull());
}

TEST_F(OnComparePage, TheSameRecordingDiffersInNothing) {
  compare_with(testing::synthetic_recording(20'000));
  EXPECT_TRUE(says("B's peak is the same"));
  for (int row = 0; row < table().rowCount(); ++row) {
    EXPECT_EQ(table().index(row, CompareTable::change).data(), "same");
  }
}

TEST_F(OnComparePage, AStepIsChosenByKeyboardAndByClick) {
  compare();
  QComboBox* step = box("What is compared");
  step->setFocus();
  QTest::keyClick(step, Qt::Key_Down);
  ASSERT_TRUE(soon_compares(0));
  EXPECT_TRUE(says("In step 0 B's peak"));
  auto* curve = page_.findChild<StepsCurve*>();
  const auto steps = static_cast<int>(page_.other().subject().of.steps.size());
  const int left = QFontMetrics(small_font()).horizontalAdvance("1023.9 MiB") + kGap;
  const int each = (curve->width() - left - kGap) / steps;
  QTest::mouseClick(curve, Qt::LeftButton, {}, {left + 2 * each + each / 2, curve->height() / 2});
  ASSERT_TRUE(soon_compares(2));
  EXPECT_EQ(step->currentText(), "step 2");
  curve->setFocus();
  QTest::keyClick(curve, Qt::Key_Left);
  ASSERT_TRUE(soon_compares(1));
  EXPECT_EQ(sum(CompareTable::a), page_.other().comparison()->a.bytes.value);
  EXPECT_FALSE(page_.grab().isNull());
}

TEST_F(OnComparePage, BytesAreGroupedByWhatIsChosen) {
  compare();
  QComboBox* by = box("The key that groups");
  by->setFocus();
  QTest::keyClick(by, Qt::Key_End);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.other().comparison() != nullptr; }, 10'000));
  EXPECT_EQ(page_.other().by(), peak::By::category);
  EXPECT_EQ(sum(CompareTable::a), session_.subject().device.peak.value);
}

TEST_F(OnComparePage, TheModulesAreAPictureOfTheSameBytes) {
  compare();
  const auto* icicle = page_.findChild<IcicleView*>();
  const GroupTree::Node& whole = icicle->tree().node(GroupTree::kRoot);
  EXPECT_TRUE(icicle->isVisible());
  EXPECT_EQ(whole.before, session_.subject().device.peak);
  EXPECT_EQ(whole.after, page_.other().subject().device.peak);
  EXPECT_GE(whole.bytes, std::max(whole.before, whole.after).value);
  EXPECT_TRUE(says("\u25a0"));
  EXPECT_TRUE(icicle->accessibleDescription().contains(" in B ("));
}

TEST_F(OnComparePage, AModuleInThePictureSelectsItsRows) {
  compare();
  auto* icicle = page_.findChild<IcicleView*>();
  const auto* view = page_.findChild<QTableView*>();
  icicle->setFocus();
  QTest::keyClick(icicle, Qt::Key_Down);
  ASSERT_NE(icicle->current(), GroupTree::kRoot);
  ASSERT_TRUE(QTest::qWaitFor([&] { return view->selectionModel()->hasSelection(); }, 10'000));
  EXPECT_EQ(page_.other().by(), peak::By::module);
  EXPECT_EQ(box("The key that groups")->currentText(), "module");
  const auto selected = [&] {
    std::pair<Bytes, Bytes> sums;
    for (const QModelIndex& row : view->selectionModel()->selectedRows()) {
      const auto in = [&](int column) {
        return Bytes{row.siblingAtColumn(column).data(CompareTable::sort_role).toLongLong()};
      };
      sums.first += in(CompareTable::a);
      sums.second += in(CompareTable::b);
    }
    return sums;
  };
  const GroupTree::Node& node = icicle->tree().node(icicle->current());
  EXPECT_EQ(selected(), std::pair(node.before, node.after));
  QTest::mouseClick(icicle->viewport(), Qt::LeftButton, {}, {icicle->viewport()->width() / 2, 4});
  ASSERT_EQ(icicle->current(), GroupTree::kRoot);
  EXPECT_EQ(view->selectionModel()->selectedRows().size(), table().rowCount());
  EXPECT_EQ(selected().second, page_.other().comparison()->b.bytes);
  EXPECT_FALSE(page_.grab().isNull());
}

TEST_F(OnComparePage, AFilterIsTyped) {
  compare();
  page_.find();
  const int all = table().rowCount();
  QTest::keyClicks(page_.findChild<QLineEdit*>(), "backward0");
  EXPECT_LT(table().rowCount(), all);
  EXPECT_GT(table().rowCount(), 0);
  QTest::keyClicks(page_.findChild<QLineEdit*>(), "zzz");
  EXPECT_TRUE(says("No group matches the filter."));
}

TEST_F(OnComparePage, ABrokenFileIsASentenceAndWhatWasComparedStays) {
  const QTemporaryDir folder;
  const QString broken = folder.filePath("broken.tapelens");
  QFile file(broken);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("no recording");
  file.close();
  page_.open_other(broken);
  ASSERT_TRUE(QTest::qWaitFor([&] { return says(broken); }, 10'000));
  EXPECT_FALSE(page_.findChild<QTableView*>()->isVisible());
  compare();
  EXPECT_FALSE(says(broken));
  page_.open_other(broken);
  ASSERT_TRUE(QTest::qWaitFor([&] { return says(broken); }, 10'000));
  EXPECT_TRUE(page_.findChild<QTableView*>()->isVisible());
  EXPECT_GT(table().rowCount(), 0);
}

TEST_F(OnComparePage, ARecordingIsDropped) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(testing::synthetic_recording(40'000))});
  QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&page_, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&page_, &drop);
  EXPECT_TRUE(QTest::qWaitFor([&] { return page_.other().comparison() != nullptr; }, 20'000));
  QMimeData text;
  text.setText("no file");
  QDragEnterEvent other(QPoint(50, 50), Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
  other.ignore();
  QApplication::sendEvent(&page_, &other);
  EXPECT_FALSE(other.isAccepted());
}

TEST_F(OnComparePage, OpeningCanBeCancelled) {
  page_.open_other(testing::synthetic_recording(400'000));
  QPushButton* cancel = nullptr;
  for (QPushButton* button : page_.findChildren<QPushButton*>())
    if (button->text() == "Cancel") cancel = button;
  ASSERT_TRUE(cancel != nullptr && cancel->isVisible());
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_FALSE(page_.other().is_opening());
  EXPECT_TRUE(says("with another recording"));
  QTest::qWait(50);
  EXPECT_EQ(page_.other().document(), nullptr);
}

TEST_F(OnComparePage, GoesWithTheRecordingThatIsOpen) {
  compare();
  session_.close();
  EXPECT_EQ(page_.other().document(), nullptr);
  EXPECT_FALSE(page_.findChild<QTableView*>()->isVisible());
}

}  // namespace
}  // namespace tapelens::gui
