// Reads from synthetic spools whether a run fits.
#include <gtest/gtest.h>

#include "analyzer/experiment/measurement.h"
#include "testing/trace_builder.h"

namespace tapelens::experiment {
namespace {

using trace::SegmentChange;
using trace::SpoolBuilder;
using trace::TestFolder;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A training process with one segment, and one block of this many MiB in each step.
void train(SpoolBuilder& spool, const std::vector<uint64_t>& mebibytes, uint64_t reserved) {
  spool.segment(SegmentChange::allocated, 0x10000000, reserved * kMiB);
  for (const uint64_t block : mebibytes) {
    spool.op("aten::empty").block(0x10000000, block * kMiB - 100, block * kMiB).end_op();
    spool.optimizer("Adam").end_optimizer().free(0x10000000, "cuda:0");
  }
}

Measurement read(const TestFolder& folder) {
  trace::seal_folder(folder);
  const auto measured = read_recording(folder / "run.tapelens");
  EXPECT_TRUE(measured);
  return *measured;
}

TEST(FitReading, TheLargestOfAllProcessesCounts) {
  const TestFolder folder;
  SpoolBuilder first(folder, "1.spool"), second(folder, "2.spool");
  train(first, {40, 64, 64}, 80);
  train(second, {32}, 96);
  first.finish();
  second.finish();
  const Measurement measured = read(folder);
  EXPECT_TRUE(measured.uses_gpu);
  EXPECT_EQ(measured.allocated.value, 64 * int64_t{kMiB});
  EXPECT_EQ(measured.reserved.value, 96 * int64_t{kMiB});
  EXPECT_EQ(measured.optimizer_steps, 3U);
  EXPECT_EQ(measured.fewest_optimizer_steps, 1U);
  EXPECT_FALSE(measured.grew);
  EXPECT_EQ(measured.full, "");
  EXPECT_EQ(measured.left_out, "");
}

TEST(FitReading, APeakThatGrowsInTheLastStepIsSeen) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  train(spool, {40, 64, 65}, 80);
  spool.finish();
  EXPECT_TRUE(read(folder).grew);
}

TEST(FitReading, ARequestThatFoundTheDeviceFullIsNamedWithItsPlace) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  train(spool, {40}, 80);
  spool.op("aten::mm").out_of_memory(512 * kMiB, 0, 80 * kMiB).end_op();
  spool.finish();
  EXPECT_EQ(read(folder).full, "cuda:0 had no room for 512.0 MiB, aten::mm");
}

TEST(FitReading, AProcessWithoutAGpuUsesNone) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  spool.op("aten::empty").alloc(0x1000, 64).end_op();
  spool.finish();
  const Measurement measured = read(folder);
  EXPECT_FALSE(measured.uses_gpu);
  EXPECT_EQ(measured.allocated.value, 0);
}

}  // namespace
}  // namespace tapelens::experiment
