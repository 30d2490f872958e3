// The page of modules over a recording.
#include "gui/modules/modules_page.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QLineEdit>
#include <QTest>
#include <QTreeView>

#include "gui/widgets/choice_bar.h"
#include "gui/widgets/table.h"
#include "testing/trace_builder.h"

namespace tapelens::gui {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Two layers of one block: the upper one has 1 MiB of parameters and 2 MiB of saves, the lower one 3 MiB and 4 MiB.
// Tensors that the script itself holds belong to no module.
class OnModulesPage : public ::testing::Test {
 protected:
  void SetUp() override {
    trace::SpoolBuilder& b = spool_;
    b.alloc(0x500, kMiB);
    b.op("aten::empty").alloc(0x1000, kMiB).end_op().role(trace::Role::parameter, "block.up.weight", 0x1000, kMiB);
    b.op("aten::empty").alloc(0x2000, 3 * kMiB).end_op();
    b.role(trace::Role::parameter, "block.down.weight", 0x2000, 3 * kMiB);
    const uint32_t layout = b.layout("float32", 4, {512, 1024}, {1024, 1});
    b.enter("Net", "Net").enter("Net.block", "Block");
    for (uint64_t i = 0; i < 2; ++i) {
      const uint64_t at = 0x10000 + 0x1000 * i, bytes = (2 + 2 * i) * kMiB;
      b.enter(i == 0 ? "Net.block.up" : "Net.block.down", "Linear");
      b.op("aten::addmm", {0x1000}).alloc(at, bytes).node("AddmmBackward0", at + 1);
      b.save(at + 1, "mat1", at, bytes, layout).end_op().leave();
    }
    b.leave().leave().backward();
    b.evaluate(0x11001).op("aten::mm", {0x11000}).alloc(0x20000, 3 * kMiB).end_op().end_evaluation();
    b.role(trace::Role::gradient, "block.down.weight", 0x20000, 3 * kMiB, 0x2000).end_backward();
    b.free(0x10000).free(0x11000);
    b.optimizer("SGD#1").end_optimizer();
    b.seal();
    page_.resize(1280, 720);
    page_.show();
    session_.open(QString::fromStdString(b.folder() / "run.tapelens"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return session_.has(Part::modules); }, 20'000));
    QApplication::processEvents();
  }
  QTreeView& view() { return *page_.findChild<QTreeView*>(); }
  ChoiceBar& phases() { return *page_.findChild<ChoiceBar*>(); }
  QLineEdit& filter() { return *page_.findChild<QLineEdit*>(); }
  QModelIndex row(const QString& path) {
    const QAbstractItemModel& rows = *page_.table();
    const auto found =
        rows.match(rows.index(0, ModuleTree::module), Qt::EditRole, path, 1, Qt::MatchExactly | Qt::MatchRecursive);
    return found.isEmpty() ? QModelIndex() : found.first();
  }
  int64_t mib(const QString& path, const QString& column) {
    for (int at = 0; at < page_.table()->columnCount(); ++at)
      if (page_.table()->headerData(at, Qt::Horizontal).toString() == column)
        return row(path).siblingAtColumn(at).data(Qt::EditRole).toLongLong() / static_cast<int64_t>(kMiB);
    ADD_FAILURE() << "no column " << column.toStdString();
    return -1;
  }

  trace::SpoolBuilder spool_;
  Session session_;
  ModulesPage page_{session_};
};

TEST_F(OnModulesPage, EachRowHasTheSumOfThoseBelowIt) {
  ASSERT_EQ(phases().count(), 3);
  EXPECT_TRUE(phases().text(phases().current()).endsWith(": the peak"));
  EXPECT_EQ(mib("Net.block.up", "All"), 3);
  EXPECT_EQ(mib("Net.block.down", "Parameters"), 3);
  EXPECT_EQ(mib("Net.block.down", "Saved"), 4);
  EXPECT_EQ(mib("Net.block", "Saved"), 6);
  EXPECT_EQ(mib("Net", "Parameters"), 4);
  int64_t all = 0;
  for (int at = 0; at < page_.table()->rowCount(); ++at)
    all += page_.table()->index(at, ModuleTree::bytes).data(Qt::EditRole).toLongLong();
  EXPECT_EQ(all, session_.subject().device.peak.value);
}

TEST_F(OnModulesPage, PhasesHaveTheirOwnMoment) {
  phases().set_current(0);
  EXPECT_TRUE(phases().text(0).startsWith("Forward"));
  EXPECT_EQ(mib("Net.block.down", "Gradients"), 0);
  phases().set_current(1);
  EXPECT_EQ(mib("Net.block.down", "Gradients"), 3);
}

TEST_F(OnModulesPage, AFilterKeepsWhatIsAroundAndSaysNothingElse) {
  filter().setText("down");
  EXPECT_TRUE(row("Net.block.down").isValid());
  EXPECT_TRUE(row("Net").isValid());
  EXPECT_FALSE(row("Net.block.up").isValid());
  EXPECT_EQ(mib("Net", "Parameters"), 4);  // still the sum of all submodules
}

TEST_F(OnModulesPage, EnterShowsTheLargestAllocationAtThatMoment) {
  phases().set_current(0);
  view().setCurrentIndex(row("Net.block"));
  const AllocationId chosen = session_.view().allocation;
  EXPECT_EQ(session_.subject().of.process.allocations.bytes[chosen].value, 4 * static_cast<int64_t>(kMiB));
  QTest::keyClick(&view(), Qt::Key_Return);
  EXPECT_EQ(session_.view().page, PageId::peak);
  ASSERT_TRUE(session_.view().at.has_value());
  EXPECT_TRUE(session_.view().at->holds(session_.subject().of.process, chosen));
  session_.back();
  phases().set_current(1);
  view().setCurrentIndex(row("Net.block"));
  QTest::keyClick(&view(), Qt::Key_Return);
  EXPECT_FALSE(session_.view().at.has_value());  // the peak itself
}

TEST_F(OnModulesPage, AClosedRecordingLeavesNothing) {
  EXPECT_NE(page_.table(), nullptr);
  EXPECT_TRUE(csv_text(*page_.table()).contains("Net.block.up"));
  session_.close();
  EXPECT_EQ(page_.table(), nullptr);
}

}  // namespace
}  // namespace tapelens::gui
