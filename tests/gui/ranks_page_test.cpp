// The page of ranks with synthetic summaries.
#include "gui/ranks/ranks_page.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QTest>

#include "gui/ranks/envelope_view.h"
#include "gui/widgets/choice_bar.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"
#include "testing/synthetic.h"
#include "testing/synthetic_ranks.h"
#include "testing/trace_builder.h"
#include "trace/seal.h"

namespace tapelens::gui {
namespace {

using tapelens::testing::kKeepsMore;
using tapelens::testing::SyntheticRanks;
using trace::TestFolder;

constexpr int kRanks = 40;

// Recordings of a few events, each with the synthetic summary of one of 40 ranks. One rank holds 3 GiB more.
const TestFolder& synthetic_folder() {
  static const auto folder = [] {
    auto made = std::make_unique<TestFolder>();
    const TestFolder spools;
    tapelens::testing::SyntheticOptions options;
    options.events = 1000;
    if (!tapelens::testing::write_synthetic_spool(spools / "1.spool", options)) ADD_FAILURE() << "no spool";
    const SyntheticRanks synthetic(kRanks, TAPELENS_VERSION);
    for (int rank = 0; rank < kRanks; ++rank) {
      trace::SealOptions sealing;
      sealing.directory = spools.path();
      sealing.output = *made / ("rank" + std::to_string(rank) + ".tapelens");
      sealing.command = "python train.py";
      sealing.summarize = [&](const std::string&) { return ranks::summary_json(synthetic.of(rank)); };
      if (const auto sealed = trace::seal(sealing); !sealed) ADD_FAILURE() << sealed.error().message;
    }
    return made;
  }();
  return *folder;
}

class OnRanksPage : public ::testing::Test {
 protected:
  void SetUp() override {
    page_.resize(1280, 720);
    page_.show();
  }
  void read(const std::string& folder) {
    page_.open_folder(QString::fromStdString(folder));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.is_busy(); }, 20'000));
    QApplication::processEvents();
  }
  bool says(const QString& text) const {
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(text)) return true;
    return false;
  }
  QTableView& view() {
    for (QTableView* view : page_.findChildren<QTableView*>())
      if (view->isVisible()) return *view;
    throw std::runtime_error("no table");
  }

  Session session_;
  RanksPage page_{session_};
};

TEST_F(OnRanksPage, SaysWhichRankStandsOutAndWhy) {
  read(synthetic_folder().path());
  EXPECT_TRUE(says("40 ranks on 5 hosts, peak on cuda: median "));
  EXPECT_TRUE(says("rank 37 on node4: peak "));
  EXPECT_TRUE(says("train.py:88 loss"));
  ASSERT_EQ(view().model()->rowCount(), kRanks);
  const QModelIndex first = view().model()->index(0, RanksTable::number);  // the rank with the largest peak
  EXPECT_EQ(first.data().toInt(), kKeepsMore);
  EXPECT_TRUE(first.data(RanksTable::why_role).toString().contains("LogSoftmaxBackward0.result"));
  EXPECT_TRUE(view().model()->index(1, RanksTable::number).data(RanksTable::why_role).isNull());
  auto* envelope = page_.findChild<EnvelopeView*>();
  ASSERT_NE(envelope, nullptr);
  EXPECT_TRUE(envelope->isVisible());
  const QImage picture = envelope->grab().toImage();
  int line = 0;
  for (int x = 0; x < picture.width(); ++x)
    for (int y = 0; y < picture.height(); ++y) line += picture.pixelColor(x, y) == theme().accent ? 1 : 0;
  EXPECT_GT(line, picture.width() / 2);  // the median's line is wider than half the view
}

TEST_F(OnRanksPage, PeaksInBytesForPrograms) {
  read(synthetic_folder().path());
  const SyntheticRanks synthetic(kRanks, TAPELENS_VERSION);
  const QAbstractItemModel& rows = *view().model();
  for (int row = 0; row < rows.rowCount(); ++row) {
    const int rank = rows.index(row, RanksTable::number).data(Qt::EditRole).toInt();
    EXPECT_EQ(rows.index(row, RanksTable::peak).data(Qt::EditRole).toLongLong(),
              synthetic.of(rank).processes[0].devices[0].peak.value);
  }
  EXPECT_TRUE(csv_text(*page_.table()).startsWith("Rank,Host,Peak,Reserved,"));
}

TEST_F(OnRanksPage, AFilterAndTheFindings) {
  read(synthetic_folder().path());
  page_.findChild<QLineEdit*>()->setText("node3");
  EXPECT_EQ(view().model()->rowCount(), 8);
  page_.findChild<QLineEdit*>()->clear();
  page_.findChild<ChoiceBar*>()->set_current(1);
  EXPECT_EQ(view().model()->rowCount(), static_cast<int>(page_.ranks().job()->findings.size()));
  ASSERT_GT(view().model()->rowCount(), 0);
  EXPECT_TRUE(view().model()->index(0, SharedFindings::on).data().toString().contains("40 ranks"));
}

TEST_F(OnRanksPage, EnterOpensARanksRecording) {
  read(synthetic_folder().path());
  view().setFocus();
  view().selectRow(0);
  QTest::keyClick(&view(), Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return session_.document() != nullptr; }, 20'000));
  EXPECT_TRUE(session_.document()->facts().path.endsWith("/rank37.tapelens"));
  EXPECT_NE(page_.table(), nullptr);  // the table of ranks remains
}

TEST_F(OnRanksPage, ARecordingOfARankBringsThoseOfItsFolder) {
  session_.open(QString::fromStdString(synthetic_folder() / "rank2.tapelens"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.table() != nullptr && !page_.is_busy(); }, 20'000));
  EXPECT_EQ(view().model()->rowCount(), kRanks);
}

TEST_F(OnRanksPage, AFolderWithoutRecordingsSaysSo) {
  EXPECT_EQ(page_.table(), nullptr);
  const TestFolder empty;
  read(empty.path());
  EXPECT_TRUE(says("the folder has no recording (*.tapelens)"));
  EXPECT_EQ(page_.table(), nullptr);
  read(synthetic_folder().path());
  EXPECT_NE(page_.table(), nullptr);
}

TEST_F(OnRanksPage, AFileThatCannotBeReadIsNamed) {
  TestFolder folder;
  QFile::copy(QString::fromStdString(synthetic_folder() / "rank1.tapelens"),
              QString::fromStdString(folder / "rank1.tapelens"));
  QFile broken(QString::fromStdString(folder / "rank2.tapelens"));
  ASSERT_TRUE(broken.open(QIODevice::WriteOnly));
  broken.write("no recording");
  broken.close();
  read(folder.path());
  EXPECT_EQ(view().model()->rowCount(), 1);
  EXPECT_TRUE(says("rank2.tapelens"));
}

}  // namespace
}  // namespace tapelens::gui
