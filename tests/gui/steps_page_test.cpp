// The steps page over a recording.
#include "gui/steps/steps_page.h"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QTest>
#include <QToolTip>

#include "gui/steps/step_bars.h"
#include "testing/model_builder.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

class OnStepsPage : public ::testing::Test {
 protected:
  void SetUp() override {
    page_.resize(1280, 720);
    page_.show();
    bool opened = false;
    QObject::connect(&session_, &Session::opened, &page_, [&] { opened = true; });
    session_.open(testing::synthetic_recording());
    ASSERT_TRUE(QTest::qWaitFor([&] { return opened; }, 20'000));
    QApplication::processEvents();
    view_ = page_.findChild<QTableView*>();
    bars_ = page_.findChild<StepBars*>();
  }
  bool says(const QString& text) const {
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(text)) return true;
    return false;
  }
  size_t count() const { return session_.subject().of.steps.size(); }

  Session session_;
  StepsPage page_{session_};
  QTableView* view_ = nullptr;
  StepBars* bars_ = nullptr;
};

TEST_F(OnStepsPage, SaysHowManyThereAre) {
  ASSERT_GE(count(), 4U);
  EXPECT_EQ(view_->model()->rowCount(), static_cast<int>(count()));
  EXPECT_TRUE(says(QString::number(count()) + " steps; the largest peak, "));
  EXPECT_FALSE(page_.grab().isNull());
}

TEST_F(OnStepsPage, AClickSelectsAStep) {
  const QModelIndex row = view_->model()->index(2, StepsTable::peak);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, view_->visualRect(row).center());
  EXPECT_EQ(session_.view().step, 2U);
  EXPECT_EQ(session_.view().page, PageId::timeline);  // where it was: a click goes nowhere
  EXPECT_EQ(bars_->current(), 2);
  QTest::keyClick(view_, Qt::Key_Down);
  EXPECT_EQ(session_.view().step, 3U);
}

TEST_F(OnStepsPage, ReturnZoomsTheTimeline) {
  View elsewhere = session_.view();
  elsewhere.page = PageId::steps;
  session_.look(elsewhere);
  view_->setFocus();
  view_->selectRow(1);
  QTest::keyClick(view_, Qt::Key_Return);
  EXPECT_EQ(session_.view().page, PageId::timeline);
  EXPECT_EQ(session_.view().step, 1U);
  EXPECT_EQ(session_.view().range, session_.subject().of.steps[1].when);
}

TEST_F(OnStepsPage, BarsSelectByTheMouseAndTheKeys) {
  QTest::mouseClick(bars_, Qt::LeftButton, {}, QPoint(3, bars_->height() / 2));
  EXPECT_EQ(session_.view().step, 0U);
  QTest::keyClick(bars_, Qt::Key_Right);
  EXPECT_EQ(session_.view().step, 1U);
  EXPECT_EQ(view_->currentIndex().row(), 1);
  QTest::keyClick(bars_, Qt::Key_End);
  EXPECT_EQ(session_.view().step, count() - 1);
  QTest::keyClick(bars_, Qt::Key_Home);
  EXPECT_EQ(session_.view().step, 0U);
  const QPoint place(3, bars_->height() / 2);
  QHelpEvent help(QEvent::ToolTip, place, bars_->mapToGlobal(place));
  QApplication::sendEvent(bars_, &help);
  EXPECT_TRUE(QToolTip::text().startsWith("Step 0\nPeak "));
}

TEST_F(OnStepsPage, AnotherPagesStepIsSelected) {
  View next = session_.view();
  next.step = 3;
  session_.look(next);
  EXPECT_EQ(view_->currentIndex().row(), 3);
  session_.back();
  EXPECT_FALSE(view_->selectionModel()->hasSelection());
}

TEST_F(OnStepsPage, IsFiltered) {
  page_.find();
  QTest::keyClicks(page_.findChild<QLineEdit*>(), "step 1");
  EXPECT_GE(view_->model()->rowCount(), 1);
  EXPECT_LT(view_->model()->rowCount(), static_cast<int>(count()));
  QTest::keyClicks(page_.findChild<QLineEdit*>(), "nothing");
  EXPECT_TRUE(says("No step matches the filter."));
  session_.close();
  EXPECT_EQ(view_->model()->rowCount(), 0);
  page_.grab();
}

TEST(StepBars, OfNoStepsAreEmpty) {
  StepsTable table;
  StepBars bars(table);
  bars.resize(400, 100);
  bars.grab();
  QTest::keyClick(&bars, Qt::Key_Right);
  EXPECT_EQ(bars.current(), -1);
}

TEST(StepBars, OfManyStepsShowTheLargestInEachPixel) {
  tapelens::testing::ProcessBuilder b;
  std::vector<report::Step> steps(10'000);
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].index = static_cast<uint32_t>(i);
    steps[i].peak = {i == 5013 ? 4000 : 1000};
  }
  const auto timeline = std::make_shared<const peak::Timeline>(b.done(), tapelens::testing::kCpu);
  StepsTable table;
  table.show(timeline, timeline.get(), steps);
  StepBars bars(table);
  bars.resize(400, 100);
  bars.show();
  int selected = -1;
  QObject::connect(&bars, &StepBars::selected, [&](int row) { selected = row; });
  QTest::mouseClick(&bars, Qt::LeftButton, {}, QPoint(200, 50));
  EXPECT_EQ(selected, 5013);  // 25 steps a pixel
  const QPoint place(200, 50);
  QHelpEvent help(QEvent::ToolTip, place, bars.mapToGlobal(place));
  QApplication::sendEvent(&bars, &help);
  EXPECT_TRUE(QToolTip::text().contains("the largest of steps 5000 to 5024")) << QToolTip::text().toStdString();
  EXPECT_TRUE(QToolTip::text().contains("300 % above the median"));
}

}  // namespace
}  // namespace tapelens::gui
