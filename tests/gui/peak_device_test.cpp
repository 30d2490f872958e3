// The window opens with the device and the peak of the report.
#include <gtest/gtest.h>

#include "analyzer/report/report.h"
#include "gui/models/document.h"
#include "testing/trace_builder.h"

namespace tapelens::gui {
namespace {

TEST(PeakDevice, TheWindowBeginsWithThatOfTheReport) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const trace::TestFolder folder;
  trace::SpoolBuilder training(folder, "1.spool"), loading(folder, "2.spool");
  training.op("aten::empty").alloc(0x1000, 8 * kMiB).block(0x10000000, kMiB, kMiB).end_op().finish();
  loading.op("aten::empty").alloc(0x1000, 16 * kMiB).end_op().finish();
  trace::seal_folder(folder);
  const std::string path = folder / "run.tapelens";
  const Loaded loaded = Document::load(QString::fromStdString(path), {});
  ASSERT_TRUE(loaded);
  const auto run = run::Run::open(path);
  ASSERT_TRUE(run);
  const auto report = report::build(*run, {});
  ASSERT_TRUE(report);
  const Subject& shown = (*loaded)->subject(0);
  EXPECT_EQ(report->peak.device, "cuda:0");
  EXPECT_TRUE(shown.name.startsWith("cuda:0")) << shown.name.toStdString();
  EXPECT_EQ(shown.device.peak, report->peak.bytes);
  EXPECT_EQ(shown.of.process.summary.pid, report->peak.pid);
  ASSERT_EQ((*loaded)->subjects().size(), 3U);
  EXPECT_EQ((*loaded)->subject(1).device.peak.value, 16 * int64_t{kMiB}) << "then the largest peak";
}

}  // namespace
}  // namespace tapelens::gui
