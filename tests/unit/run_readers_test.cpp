// The readers of a recording describe the same device and peak, although the host holds more than the GPU.
#include <gtest/gtest.h>

#include "analyzer/compare/run_figures.h"
#include "analyzer/experiment/measurement.h"
#include "analyzer/ranks/job.h"
#include "analyzer/report/report.h"
#include "analyzer/verify/run.h"
#include "testing/trace_builder.h"

namespace tapelens::run {
namespace {

using trace::SegmentChange;

constexpr int64_t kMiB = int64_t{1} << 20;

class Readers : public ::testing::Test {
 protected:
  void SetUp() override {
    trace::SpoolBuilder training(folder, "1.spool"), loading(folder, "2.spool");
    training.segment(SegmentChange::allocated, 0x10000000, 4 * kMiB).op("aten::empty").alloc(0x1000, 8 * kMiB);
    training.block(0x10000000, 2 * kMiB, 2 * kMiB).block(0x30000000, kMiB, kMiB, "cuda:1");
    training.block(0x20000000, 32 * kMiB, 32 * kMiB, "pinned").end_op().finish();
    loading.op("aten::empty").alloc(0x1000, 16 * kMiB).end_op().finish();
    trace::seal_folder(folder);
  }

  const trace::TestFolder folder;
  const std::string path = folder / "run.tapelens";
};

TEST_F(Readers, NameTheSameDeviceAndPeak) {
  const auto opened = run::Run::open(path);
  ASSERT_TRUE(opened);
  const auto report = report::build(*opened, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->peak.device, "cuda:0");
  EXPECT_EQ(report->peak.bytes.value, 2 * kMiB);

  const auto measured = experiment::read_recording(path);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->device, "cuda:0");
  EXPECT_EQ(measured->peak, report->peak.bytes);
  EXPECT_EQ(measured->allocated, report->peak.bytes) << "not that of pinned memory";
  EXPECT_EQ(measured->reserved.value, 4 * kMiB);

  const auto verified = verify::read_run(path);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->figures.peak, report->peak.bytes);

  const auto snapshot = compare::figures_of_run(*opened, nullptr, {}, {});
  ASSERT_TRUE(snapshot);
  const compare::DeviceFigures& figures = snapshot->processes[0].devices[0];
  EXPECT_EQ(figures.device, "cuda:0");
  EXPECT_EQ(figures.peak, report->peak.bytes);

  const ranks::Summary summary = ranks::summarize(*opened, nullptr, "1");
  EXPECT_EQ(summary.processes[0].devices[0].device, "cuda:0");
  EXPECT_EQ(summary.processes[0].devices[0].peak, report->peak.bytes);
  const auto job = ranks::merge({{path, summary, "", true}}, {}, "1");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->device_type, "cuda") << "one of two processes uses it";
}

TEST_F(Readers, OfASelectedDeviceNameThatOne) {
  report::Options options;
  options.device = "cpu";
  const auto report = report::build(*run::Run::open(path), options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->peak.device, "cpu");
  EXPECT_EQ(report->peak.bytes.value, 16 * kMiB);
}

}  // namespace
}  // namespace tapelens::run
