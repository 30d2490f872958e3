// The window follows a run while it is recorded, and opens its recording at the end.
#include <QComboBox>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <filesystem>

#include "gui/live/live_page.h"
#include "gui/live/live_tables.h"
#include "gui/models/facts.h"
#include "testing/trace_builder.h"
#include "tests/gui/app_window.h"
#include "trace/seal.h"

namespace tapelens::gui::testing {
namespace {

namespace fs = std::filesystem;

// The spool of one process of `run.tapelens`, and the recording that `tapelens record` makes of it.
class RecordedRun {
 public:
  RecordedRun() {
    fs::create_directory(spools());
    builder_ = std::make_unique<trace::SpoolBuilder>(folder_, "run.tapelens.spool/1.spool");
  }
  trace::SpoolBuilder& builder() const { return *builder_; }
  std::string spools() const { return folder_ / "run.tapelens.spool"; }
  QString recording() const { return QString::fromStdString(folder_ / "run.tapelens"); }
  void seal() const {
    trace::SealOptions options;
    options.directory = spools();
    options.output = recording().toStdString();
    options.command = "python train.py";
    const auto sealed = trace::seal(options);
    ASSERT_TRUE(sealed) << sealed.error().message;
  }

 private:
  trace::TestFolder folder_;
  std::unique_ptr<trace::SpoolBuilder> builder_;
};

class Live : public OnWindow {
 protected:
  const LiveFigures* figures() { return window_->live().figures(); }
  bool shows(int64_t bytes) { return figures() != nullptr && figures()->live.value == bytes; }
  void follow(const std::string& path) {
    window_->open(QString::fromStdString(path));
    ASSERT_TRUE(window_->live().is_following());
    ASSERT_TRUE(QTest::qWaitFor([&] { return figures() != nullptr && !figures()->processes.isEmpty(); }, 10'000));
  }
};

// A step of a training: one more MiB stays alive.
void add_step(trace::SpoolBuilder& b, uint64_t number) {
  b.enter("net", "Net").op("aten::mm", {}, b.stack({b.frame("train.py", 7, "forward")}));
  b.alloc(1000 + number, 1 << 20).end_op().leave();
  b.optimizer("SGD").end_optimizer();
}

TEST_F(Live, FollowsARunUntilItsRecordingExists) {
  const RecordedRun run;
  trace::SpoolBuilder& b = run.builder();
  b.op("aten::empty").alloc(1, 4 << 20).end_op().role(trace::Role::parameter, "weight", 1, 4 << 20);
  follow(run.spools());
  EXPECT_TRUE(QTest::qWaitFor([&] { return shows(4 << 20); }, 10'000));
  EXPECT_EQ(window_->windowTitle().toStdString(), "run.tapelens (recording) – Tapelens");
  ASSERT_FALSE(figures()->categories.empty());
  EXPECT_EQ(figures()->categories[0].kind, peak::HolderKind::parameter);
  for (uint64_t step = 0; step < 6; ++step) {
    add_step(b, step);
    const int64_t expected = (static_cast<int64_t>(step) + 5) << 20;
    ASSERT_TRUE(QTest::qWaitFor([&] { return shows(expected); }, 10'000)) << step;
    EXPECT_TRUE(says(QString("now %1,").arg(bytes_words(Bytes{expected}))));
  }
  EXPECT_EQ(figures()->steps, 6U);
  EXPECT_EQ(figures()->growth, 1 << 20);
  EXPECT_TRUE(says("+1.0 MiB a step"));
  ASSERT_EQ(figures()->last_steps.size(), 6U);
  EXPECT_EQ(figures()->last_steps[0].number, 5U);
  EXPECT_EQ(figures()->last_steps[0].change, 1 << 20);
  ASSERT_EQ(figures()->holders.size(), 2U);
  EXPECT_EQ(figures()->holders[0].line, "train.py:7 forward");
  EXPECT_EQ(figures()->holders[0].module, "net");
  ASSERT_FALSE(figures()->curve.empty());
  EXPECT_EQ(figures()->curve.back().bytes, 10 << 20);

  b.finish();
  ASSERT_TRUE(QTest::qWaitFor([&] { return says("The program has ended."); }, 10'000));
  EXPECT_TRUE(says("tapelens seal"));
  run.seal();
  wait_for_recording(run.recording());
  EXPECT_FALSE(window_->live().is_following());
  EXPECT_EQ(session().subject().device.peak.value, 10 << 20);
  EXPECT_EQ(window_->windowTitle().toStdString(), "run.tapelens – Tapelens");
}

TEST_F(Live, ShowsAnAllocationWithinHalfASecond) {
  const RecordedRun run;
  trace::SpoolBuilder& b = run.builder();
  follow(run.spools());
  for (int64_t round = 1; round <= 5; ++round) {
    QTest::qWait(70);  // the rounds begin at different times between two refreshes
    b.at(trace::ticks_now()).alloc(static_cast<uint64_t>(round), 1000);
    QElapsedTimer since;
    since.start();
    EXPECT_TRUE(QTest::qWaitFor([&] { return shows(1000 * round); }, 10'000));
    EXPECT_LE(since.elapsed(), 500);
  }
}

TEST_F(Live, DrawsOnlyCellsThatChange) {
  const RecordedRun run;
  trace::SpoolBuilder& b = run.builder();
  b.op("aten::empty").alloc(1, 1000).end_op();
  b.op("aten::mm").alloc(2, 4000).end_op();
  follow(run.spools());
  ASSERT_TRUE(QTest::qWaitFor([&] { return shows(5000); }, 10'000));
  const auto* holders = window_->live().findChild<LiveHolders*>();
  ASSERT_EQ(holders->rowCount(), 2);
  const QSignalSpy changes(holders, &QAbstractItemModel::dataChanged);
  b.op("aten::empty").alloc(3, 1000).end_op();
  ASSERT_TRUE(QTest::qWaitFor([&] { return shows(6000); }, 10'000));
  ASSERT_FALSE(changes.isEmpty());
  for (const QList<QVariant>& change : changes) EXPECT_EQ(change[0].toModelIndex(), change[1].toModelIndex());
}

// An older recording has the name until the new one replaces it.
TEST_F(Live, DoesNotOpenAnOlderRecording) {
  const RecordedRun older;
  older.builder().op("aten::empty").alloc(1, 77).end_op().finish();
  older.seal();
  const RecordedRun run;
  fs::copy(older.recording().toStdString(), run.recording().toStdString());
  fs::last_write_time(run.recording().toStdString(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  run.builder().op("aten::empty").alloc(1, 4096).end_op();
  follow(run.spools() + "/");
  ASSERT_TRUE(QTest::qWaitFor([&] { return shows(4096); }, 10'000));
  run.builder().finish();
  ASSERT_TRUE(QTest::qWaitFor([&] { return says("The program has ended."); }, 10'000));
  QTest::qWait(500);
  EXPECT_EQ(session().document(), nullptr);
  run.seal();
  wait_for_recording(run.recording());
  EXPECT_EQ(session().subject().device.peak.value, 4096);
}

TEST_F(Live, ClosesAndOpensOtherFiles) {
  const RecordedRun run;
  run.builder().alloc(1, 4096);
  follow(run.spools() + "/1.spool");
  ASSERT_TRUE(QTest::qWaitFor([&] { return shows(4096); }, 10'000));
  key(Qt::Key_W, Qt::ControlModifier);
  EXPECT_FALSE(window_->live().is_following());
  EXPECT_TRUE(says("What held the peak?"));

  // The name of the future recording.
  follow(run.recording().toStdString());
  open(synthetic_recording());
  EXPECT_FALSE(window_->live().is_following());
  follow(run.spools());
  EXPECT_EQ(session().document(), nullptr);
  EXPECT_FALSE(action("Export this page")->isEnabled());
}

TEST_F(Live, SelectsAProcessAndADevice) {
  const RecordedRun run;
  run.builder().alloc(1, 4096).alloc(2, 512, "cuda:0");
  follow(run.spools());
  ASSERT_TRUE(QTest::qWaitFor([&] { return shows(512); }, 10'000));  // a GPU comes first
  ASSERT_EQ(figures()->devices, QStringList({"cpu", "cuda:0"}));
  for (QComboBox* box : window_->live().findChildren<QComboBox*>()) {
    if (box->accessibleName() != "Device") continue;
    ASSERT_TRUE(box->isVisible());
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Up);
  }
  EXPECT_TRUE(QTest::qWaitFor([&] { return shows(4096); }, 10'000));
}

}  // namespace
}  // namespace tapelens::gui::testing
