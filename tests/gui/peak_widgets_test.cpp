// The widgets of the peak page without the page, with the mouse and the keyboard.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QHelpEvent>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QToolButton>
#include <QToolTip>

#include "gui/widgets/grouping_bar.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"
#include "testing/model_builder.h"
#include "tests/gui/peak_random.h"
#include "trace/checksum.h"

namespace tapelens::gui {
namespace {

TEST(Labels, APathIsCutAtADotFromTheLeft) {
  const QFontMetrics metrics{QFont()};
  const QString path = "Bert.encoder.layer.{0-3}.attention.self";
  EXPECT_EQ(fitted_path(metrics, path, metrics.horizontalAdvance(path)), path);
  const int width = metrics.horizontalAdvance("….attention.self");
  EXPECT_EQ(fitted_path(metrics, path, width), "….attention.self");
  EXPECT_EQ(fitted_path(metrics, path, width - 1), "….self");
  EXPECT_EQ(fitted_path(metrics, path, 1), "….self");
  EXPECT_EQ(fitted_path(metrics, "Bert", 1), "Bert");
}

using peak::By;

class Icicle : public ::testing::Test {
 protected:
  Icicle() {
    testing::fill(moment_, 11, 400);
    tree_ = std::make_shared<const GroupTree>(*moment_.peak, Groupings{});
    view_.resize(800, 300);
    view_.show_tree(tree_, "Alive on cpu");
    view_.show();
    QApplication::processEvents();
  }
  // A point in the row with this number from the top, `x` pixels from the left.
  QPoint at(int row, int x) const { return {x, view_.sizeHint().height() / 8 * row + 5}; }

  testing::RandomMoment moment_;
  std::shared_ptr<const GroupTree> tree_;
  IcicleView view_;
};

TEST_F(Icicle, ClickSelectsAndDoubleClickZooms) {
  QSignalSpy selected(&view_, &IcicleView::selected), zoomed(&view_, &IcicleView::zoomChanged);
  QTest::mouseClick(view_.viewport(), Qt::LeftButton, {}, at(1, 5));
  const uint32_t biggest = tree_->node(GroupTree::kRoot).children.front();
  ASSERT_EQ(selected.size(), 1);
  EXPECT_EQ(selected[0][0].toUInt(), biggest);
  EXPECT_EQ(view_.current(), biggest);
  QTest::mouseDClick(view_.viewport(), Qt::LeftButton, {}, at(1, 5));
  EXPECT_EQ(view_.zoomed(), biggest);
  EXPECT_EQ(zoomed.size(), 1);
  // The zoomed group is as wide as the view.
  QTest::mouseClick(view_.viewport(), Qt::LeftButton, {}, at(1, 790));
  EXPECT_EQ(view_.current(), biggest);
}

TEST_F(Icicle, KeysWalkAndZoom) {
  QTest::keyClick(&view_, Qt::Key_Down);
  const auto& children = tree_->node(GroupTree::kRoot).children;
  EXPECT_EQ(view_.current(), children[0]);
  QTest::keyClick(&view_, Qt::Key_Right);
  EXPECT_EQ(view_.current(), children[1]);
  QTest::keyClick(&view_, Qt::Key_Left);
  EXPECT_EQ(view_.current(), children[0]);
  QTest::keyClick(&view_, Qt::Key_Return);
  EXPECT_EQ(view_.zoomed(), children[0]);
  QTest::keyClick(&view_, Qt::Key_Down);
  EXPECT_EQ(tree_->node(view_.current()).parent, children[0]);
  QTest::keyClick(&view_, Qt::Key_Up);
  EXPECT_EQ(view_.current(), children[0]);
  QTest::keyClick(&view_, Qt::Key_Escape);
  EXPECT_EQ(view_.zoomed(), GroupTree::kRoot);
  EXPECT_EQ(view_.current(), children[0]);
}

TEST_F(Icicle, TellsWhatIsUnderTheMouse) {
  const QPoint place = at(1, 5);
  QHelpEvent help(QEvent::ToolTip, place, view_.viewport()->mapToGlobal(place));
  QApplication::sendEvent(view_.viewport(), &help);
  const GroupTree::Node& node = tree_->node(tree_->node(GroupTree::kRoot).children.front());
  EXPECT_TRUE(QToolTip::text().startsWith(node.name + '\n'));
  EXPECT_TRUE(QToolTip::text().contains(QString::number(node.allocations) + " allocations"));
  EXPECT_TRUE(view_.accessibleDescription().startsWith("Alive on cpu"));
}

TEST_F(Icicle, StaysWhereItWasZoomedInAnotherTree) {
  const uint32_t second = tree_->node(GroupTree::kRoot).children[1];
  const QString path = tree_->path(second);
  view_.zoom_to(second);
  const auto other =
      std::make_shared<const GroupTree>(*moment_.peak, Groupings{}, [](int row) { return row % 2 == 0; });
  view_.show_tree(other, "Alive on cpu");
  EXPECT_EQ(other->path(view_.zoomed()), path);
  view_.show_tree(std::make_shared<const GroupTree>(), "Alive on cpu");
  EXPECT_EQ(view_.zoomed(), GroupTree::kRoot);
  view_.grab();
}

TEST(IcicleOfMany, PaintsAHundredThousandGroupsAsFewPieces) {
  auto peak = std::make_shared<report::Peak>();
  for (uint32_t i = 0; i < 100'000; ++i) {
    report::Allocation a;
    a.id = i + 1;
    a.bytes = {100'000 - i};
    a.category = peak::HolderKind::program;
    a.op = "operator " + std::to_string(i);
    a.holders.push_back({peak::HolderKind::program, "", "", "", "", 0});
    peak->allocations.push_back(std::move(a));
  }
  IcicleView view;
  view.resize(800, 300);
  view.show_tree(std::make_shared<const GroupTree>(*peak, Groupings{{By::op}, false, true}), "Alive");
  view.show();
  QElapsedTimer timer;
  timer.start();
  view.grab();
  EXPECT_LT(timer.elapsed(), 500);
  // All groups are narrower than a pixel and are one piece. A double click on the piece zooms to their parent.
  const QPoint place(400, view.sizeHint().height() / 8 + 5);
  QHelpEvent help(QEvent::ToolTip, place, view.viewport()->mapToGlobal(place));
  QApplication::sendEvent(view.viewport(), &help);
  EXPECT_TRUE(QToolTip::text().startsWith("100,000 small groups"));
  QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, place);
  EXPECT_EQ(view.zoomed(), GroupTree::kRoot);
}

class Bar : public ::testing::Test {
 protected:
  Bar() {
    bar_.set_groupings({{By::module, By::node, By::field}, false, true});
    bar_.resize(900, bar_.sizeHint().height());
    bar_.show();
    QApplication::setActiveWindow(&bar_);
    QApplication::processEvents();
  }
  QAbstractButton* chip(const QString& text) const {
    for (auto* button : bar_.findChildren<QAbstractButton*>())
      if (button->text() == text && button->isVisible()) return button;
    return nullptr;
  }
  std::vector<By> levels() const { return bar_.groupings().levels; }

  GroupingBar bar_;
};

TEST_F(Bar, KeysMoveAndRemoveAChip) {
  QSignalSpy changed(&bar_, &GroupingBar::changed);
  chip("module")->setFocus();
  QTest::keyClick(chip("module"), Qt::Key_Right, Qt::ControlModifier);
  EXPECT_EQ(levels(), (std::vector{By::node, By::module, By::field}));
  QTest::keyClick(chip("module"), Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(levels(), (std::vector{By::module, By::node, By::field}));
  QTest::keyClick(chip("module"), Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(changed.size(), 2);
  QTest::keyClick(chip("module"), Qt::Key_Right);
  EXPECT_TRUE(chip("node")->hasFocus());
  QTest::keyClick(chip("node"), Qt::Key_Delete);
  EXPECT_EQ(levels(), (std::vector{By::module, By::field}));
  EXPECT_TRUE(chip("field")->hasFocus());
  QTest::keyClick(chip("field"), Qt::Key_Delete);
  QTest::keyClick(chip("module"), Qt::Key_Delete);
  EXPECT_EQ(levels(), (std::vector{By::module}));  // the last chip cannot be removed
}

TEST_F(Bar, AChipIsDraggedToAnotherPlace) {
  QAbstractButton* field = chip("field");
  QAbstractButton* module = chip("module");
  const QPoint from(4, field->height() / 2);
  QTest::mousePress(field, Qt::LeftButton, {}, from);
  for (int step = 0; step < 60 && field->x() > module->x() - 1 && levels().front() != By::field; ++step) {
    QMouseEvent move(QEvent::MouseMove, from - QPoint(12, 0), field->mapToGlobal(from - QPoint(12, 0)), Qt::NoButton,
                     Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(field, &move);
  }
  QTest::mouseRelease(field, Qt::LeftButton, {}, from);
  EXPECT_EQ(levels(), (std::vector{By::field, By::module, By::node}));
  EXPECT_EQ(field->x(), 0);
  EXPECT_LT(field->x(), module->x());
}

TEST_F(Bar, AWideChipIsDraggedBeyondANarrowOneAtTheEndOfTheRow) {
  QAbstractButton* module = chip("module");
  ASSERT_GT(module->width(), chip("node")->width());
  const QPoint from(4, module->height() / 2);
  QTest::mousePress(module, Qt::LeftButton, {}, from);
  for (int step = 0; step < 60 && levels().back() != By::module; ++step) {
    QMouseEvent move(QEvent::MouseMove, from + QPoint(12, 0), module->mapToGlobal(from + QPoint(12, 0)), Qt::NoButton,
                     Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(module, &move);
  }
  QTest::mouseRelease(module, Qt::LeftButton, {}, from);
  EXPECT_EQ(levels(), (std::vector{By::node, By::field, By::module}));
}

TEST_F(Bar, TheCrossRemovesAChip) {
  QAbstractButton* node = chip("node");
  QTest::mouseClick(node, Qt::LeftButton, {}, QPoint(node->width() - 6, node->height() / 2));
  EXPECT_EQ(levels(), (std::vector{By::module, By::field}));
}

TEST_F(Bar, TheMenuAddsWhatIsNotThere) {
  QMenu* menu = bar_.findChild<QMenu*>();
  Q_EMIT menu->aboutToShow();
  ASSERT_EQ(menu->actions().size(), 5);
  EXPECT_EQ(menu->actions()[0]->text(), "stack");
  EXPECT_EQ(menu->actions()[2]->text(), "operator");
  menu->actions()[2]->trigger();
  EXPECT_EQ(levels(), (std::vector{By::module, By::node, By::field, By::op}));
  EXPECT_TRUE(chip("operator")->hasFocus());
}

TEST_F(Bar, IsReadFromTheOtherEnd) {
  QSignalSpy changed(&bar_, &GroupingBar::changed);
  QTest::mouseClick(chip("Bottom-up"), Qt::LeftButton);
  EXPECT_TRUE(bar_.groupings().is_bottom_up);
  QTest::mouseClick(chip("Top-down"), Qt::LeftButton);
  EXPECT_FALSE(bar_.groupings().is_bottom_up);
  EXPECT_EQ(changed.size(), 2);
}

class Source : public ::testing::Test {
 protected:
  Source() { pane_.set_folders({folder_.path()}); }
  QString write(const QString& name, int lines) {
    const QString path = folder_.filePath(name);
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    for (int i = 1; i <= lines; ++i) file.write(QByteArray("line ") + QByteArray::number(i) + "\n");
    return path;
  }
  QString marked() const {
    const SourceView* view = pane_.findChild<SourceView*>();
    return view->extraSelections().isEmpty() ? QString() : view->extraSelections()[0].cursor.block().text();
  }
  bool says(const QString& text) const {
    for (const QLabel* label : pane_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(text)) return true;
    return false;
  }

  QTemporaryDir folder_;
  SourcePane pane_;
};

TEST_F(Source, ShowsTheProgramsOwnLineInTheMiddle) {
  const QString path = write("train.py", 200);
  pane_.resize(500, 400);
  pane_.show();
  pane_.show_stack({{"/usr/lib/python3/site-packages/torch/nn/functional.py", "relu", 5},
                    {path.toStdString(), "forward", 120},
                    {path.toStdString(), "main", 180}},
                   "none");
  EXPECT_EQ(pane_.frame(), 1);
  EXPECT_EQ(marked(), "line 120");
  QApplication::processEvents();
  const SourceView* view = pane_.findChild<SourceView*>();
  const int y = view->cursorRect().center().y();
  EXPECT_NEAR(y, view->viewport()->height() / 2, view->fontMetrics().height() * 2);
  auto* frames = pane_.findChild<QComboBox*>();
  EXPECT_EQ(frames->itemText(1), "train.py:120 forward");
  frames->setFocus();
  QTest::keyClick(frames, Qt::Key_Down);
  EXPECT_EQ(marked(), "line 180");
}

TEST_F(Source, SaysThatAFileIsNotThere) {
  pane_.show();
  pane_.show_stack({{"/nowhere/at/all/train.py", "forward", 3}}, "none");
  EXPECT_TRUE(says("/nowhere/at/all/train.py is not on this machine."));
  pane_.show_stack({}, "No stack was recorded.");
  EXPECT_TRUE(says("No stack was recorded."));
}

TEST_F(Source, FindsAFileWithoutAFolderBesidesTheRecording) {
  write("train.py", 10);
  pane_.show();
  pane_.show_stack({{"train.py", "forward", 3}}, "none");
  EXPECT_EQ(marked(), "line 3");
}

TEST_F(Source, SaysThatAFileHasChangedSinceTheRecording) {
  const QString path = write("train.py", 3);
  const std::string content = "line 1\nline 2\nline 3\n";
  tapelens::testing::TextBuilder recording;
  recording.text.sources = {
      {recording.string(path.toStdString()), content.size(), trace::checksum_of(content.data(), content.size())}};
  pane_.set_recording(folder_.filePath("run.tapelens"), recording.text);
  pane_.show();
  pane_.show_stack({{path.toStdString(), "forward", 2}}, "none");
  EXPECT_EQ(marked(), "line 2");
  EXPECT_FALSE(says("Changed since the recording"));
  write("train.py", 4);
  pane_.show_stack({{path.toStdString(), "forward", 2}}, "none");
  EXPECT_TRUE(says("Changed since the recording; lines may be off."));
  const QString other = write("other.py", 2);  // the recording has no source of this file
  pane_.show_stack({{other.toStdString(), "forward", 2}}, "none");
  EXPECT_FALSE(says("Changed since the recording"));
}

TEST_F(Source, ShowsAFileThatIsNotTheProgramsOnlyWhenAsked) {
  const QTemporaryDir elsewhere;
  const QString secret = elsewhere.filePath("secret.py"), key = folder_.filePath("key.pem");
  for (const QString& path : {secret, key}) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("one\ntwo\n");
  }
  ASSERT_TRUE(QFile::link(secret, folder_.filePath("link.py")));
  const QString up = "../" + QFileInfo(elsewhere.path()).fileName() + "/secret.py";
  pane_.show();
  auto* button = pane_.findChild<QPushButton*>();
  for (const QString& path : {secret, key, folder_.filePath("link.py"), up}) {
    pane_.show_stack({{path.toStdString(), "f", 2}}, "none");
    EXPECT_TRUE(says("which is not a source file below")) << path.toStdString();
    ASSERT_TRUE(button->isVisible());
    EXPECT_FALSE(pane_.findChild<SourceView*>()->isVisible());
    QTest::mouseClick(button, Qt::LeftButton);
    EXPECT_TRUE(pane_.findChild<SourceView*>()->isVisible());
    EXPECT_EQ(marked(), "two");
  }
}

TEST_F(Source, NeitherWaitsForAPipeNorActsUponAName) {
  const QString pipe = folder_.filePath("pipe.py");
  ASSERT_EQ(mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
  pane_.show();
  pane_.show_stack({{pipe.toStdString(), "f", 1}}, "none");
  EXPECT_TRUE(says("is not on this machine"));
  pane_.show_stack({{"/<b>x</b>\x1b\xe2\x80\xae.py", "f", 1}}, "none");
  EXPECT_TRUE(says("/<b>x</b>\\x1b\\u202e.py is not on this machine."));
}

TEST_F(Source, ShowsTheLinesAroundOfALargeFile) {
  const QString path = write("large.py", 500'000);
  ASSERT_GT(QFileInfo(path).size(), SourcePane::kMostBytes);
  pane_.show();
  pane_.show_stack({{path.toStdString(), "forward", 400'000}}, "none");
  EXPECT_EQ(marked(), "line 400000");
  EXPECT_TRUE(says("Only the lines around are shown"));
  EXPECT_LT(pane_.findChild<SourceView*>()->blockCount(), 2100);
}

}  // namespace
}  // namespace tapelens::gui
