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
#include "gui/widgets/theme.h"
#include "testing/model_builder.h"
#include "testing/trace_builder.h"
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

TEST_F(OnStepsPage, BarsTakeAllOfTheWidth) {
  const QImage picture = bars_->grab().toImage();
  const QColor ground = theme().surface;
  int last = 0;
  for (int x = 0; x < picture.width(); ++x)
    if (picture.pixelColor(x, picture.height() / 2) != ground) last = x;
  EXPECT_GT(last, picture.width() * 9 / 10);
}

// Each step leaves a graph that no backward uses.
TEST(StepsWithALeak, LeadToTheFindingThatKeepsIt) {
  trace::SpoolBuilder b;
  const uint32_t layout = b.layout("float32", 4, {1024, 1024}, {1024, 1});
  for (uint64_t step = 0; step < 5; ++step) {
    b.at((step + 1) * 1'000'000);
    const uint32_t stack = b.stack({b.frame("/home/me/train.py", 12, "evaluate")});
    b.op("aten::relu", {}, stack).alloc(0x1000 + step, 4 << 20);
    b.node("ReluBackward0", 0x10 + step).save(0x10 + step, "result", 0x1000 + step, 4 << 20, layout).end_op();
    b.op("aten::relu", {}, stack).alloc(0x2000, 1 << 20).end_op();
    b.node("ReluBackward0", 0x100 + step).save(0x100 + step, "result", 0x2000, 1 << 20, layout);
    b.backward().evaluate(0x100 + step).end_evaluation().end_backward().free(0x2000);
    b.optimizer("SGD").end_optimizer();
  }
  b.seal();
  Session session;
  StepsPage page(session);
  page.resize(1280, 720);
  page.show();
  session.open(QString::fromStdString(b.folder() / "run.tapelens"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.has(Part::advice); }, 20'000));
  QApplication::processEvents();
  QLabel* link = nullptr;
  for (QLabel* label : page.findChildren<QLabel*>())
    if (label->isVisible() && label->text().contains("Kept from step to step")) link = label;
  ASSERT_NE(link, nullptr);
  EXPECT_TRUE(link->text().contains("train.py:12 evaluate"));
  const QString finding = link->text().section("href='", 1).section('\'', 0, 0);
  Q_EMIT link->linkActivated(finding);
  EXPECT_EQ(session.view().page, PageId::advice);
  EXPECT_EQ(session.view().finding, finding);
  session.close();
  EXPECT_FALSE(link->isVisible());
}

TEST_F(OnStepsPage, AClickSelectsAStep) {
  const QModelIndex row = view_->model()->index(2, StepsTable::peak);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, view_->visualRect(row).center());
  EXPECT_EQ(session_.view().step, 2U);
  EXPECT_EQ(session_.view().page, PageId::timeline);  // unchanged: a click does not change the page
  EXPECT_EQ(bars_->current(), 2);
  QTest::keyClick(view_, Qt::Key_Down);
  EXPECT_EQ(session_.view().step, 3U);
}

TEST_F(OnStepsPage, ReturnZoomsTheTimeline) {
  ViewState elsewhere = session_.view();
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
  ViewState next = session_.view();
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
