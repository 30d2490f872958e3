// Tests of an opened recording: loading, the device with the peak, the sentence for a recording without memory.
#include "analyzer/run/run.h"

#include <gtest/gtest.h>

#include <thread>

#include "analyzer/run/peak_device.h"
#include "testing/trace_builder.h"

namespace tapelens::run {
namespace {

using trace::ErrorKind;
using trace::SpoolBuilder;
using trace::TestFolder;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A process for each word: "cpu" with 8 MiB there, "gpu" with 1 MiB on a GPU besides.
Run run_of(const TestFolder& folder, const std::vector<std::string>& processes) {
  int number = 0;
  for (const std::string& process : processes) {
    SpoolBuilder b(folder, std::to_string(++number) + ".spool");
    b.op("aten::empty").alloc(0x1000, 8 * kMiB + static_cast<uint64_t>(number));
    if (process == "gpu") b.block(0x10000000, kMiB, kMiB);
    b.end_op().finish();
  }
  return run::Run(std::move(trace::seal_folder(folder).recording), folder / "run.tapelens");
}

PeakDevice found_in(const Run& run, const DeviceSelection& selection = {}) {
  PeakDevice peak(selection);
  for (uint32_t index = 0; index < run.processes(); ++index) peak.offer(run.process(index));
  return peak;
}

TEST(Run, AProcessIsLoadedOnceWhileItIsTheLastOneOrHeld) {
  const TestFolder folder;
  const run::Run run = run_of(folder, {"cpu", "cpu"});
  const run::Run copy = run;
  const ProcessRun* first = run.process(0).get();
  EXPECT_EQ(copy.process(0).get(), first) << "the last one";
  std::weak_ptr<const ProcessRun> left = run.process(0);
  const auto held = run.process(1);
  EXPECT_TRUE(left.expired()) << "only one is in memory";
  run.process(0);
  EXPECT_EQ(run.process(1), held) << "held by its caller";
  EXPECT_EQ(&held->text(), &run.text());
}

TEST(Run, ThreadsThatRequestOneProcessGetTheSame) {
  const TestFolder folder;
  const run::Run run = run_of(folder, {"gpu"});
  std::array<std::shared_ptr<const ProcessRun>, 8> got;
  std::vector<std::thread> threads;
  for (auto& one : got) threads.emplace_back([&one, &run] { one = run.process(0); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

TEST(Run, AProcessOutlivesTheRun) {
  const TestFolder folder;
  std::shared_ptr<const ProcessRun> process = run_of(folder, {"gpu"}).process(0);
  ASSERT_EQ(process->devices().size(), 2U);
  EXPECT_EQ(process->devices()[0]->name(), "cpu");
  EXPECT_EQ(process->devices()[1]->name(), "cuda:0");
  EXPECT_EQ(process->devices()[1]->peak().value, int64_t{kMiB});
}

TEST(Run, AFileThatCannotBeReadIsAnError) {
  const TestFolder folder;
  const auto none = run::Run::open(folder / "none.tapelens");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("none.tapelens"), std::string::npos);
}

TEST(PeakDevice, AGpuIsBeforeTheHostInEveryProcess) {
  const TestFolder folder;
  const run::Run run = run_of(folder, {"cpu", "gpu", "cpu"});
  const PeakDevice peak = found_in(run);
  ASSERT_TRUE(peak.found());
  EXPECT_EQ(peak.device().name(), "cuda:0");
  EXPECT_EQ(peak.process()->index().value, 1U);
}

TEST(PeakDevice, OnTheHostItIsThatOfTheProcessWithTheMost) {
  const TestFolder folder;
  const PeakDevice peak = found_in(run_of(folder, {"cpu", "cpu", "cpu"}));
  EXPECT_EQ(peak.process()->index().value, 2U);
}

TEST(PeakDevice, PinnedMemoryIsOfTheHost) {
  SpoolBuilder b;
  b.op("aten::empty").alloc(0x1000, 4 * kMiB).block(0x20000000, 2 * kMiB, 2 * kMiB, "pinned").end_op();
  EXPECT_EQ(found_in(b.seal()).device().name(), "cpu");
}

TEST(PeakDevice, ADeviceWithoutBlocksIsComparedByItsPeak) {
  SpoolBuilder b;
  b.op("aten::empty").alloc(0x1000, kMiB).alloc(0x1000, 2 * kMiB, "xpu:0").end_op();
  EXPECT_EQ(found_in(b.seal()).device().name(), "xpu:0");
}

TEST(PeakDevice, ThePeakIsWithinTheRecordedSteps) {
  SpoolBuilder b;
  b.information("steps", "1:2");
  // cuda:0 has its most before the recorded step, cuda:1 in it.
  b.op("aten::empty").block(0x10000000, 8 * kMiB, 8 * kMiB).end_op().free(0x10000000, "cuda:0");
  b.optimizer("SGD").end_optimizer();
  b.op("aten::empty").block(0x10000000, kMiB, kMiB).block(0x30000000, 2 * kMiB, 2 * kMiB, "cuda:1").end_op();
  b.optimizer("SGD").end_optimizer();
  const PeakDevice peak = found_in(b.seal());
  EXPECT_EQ(peak.device().name(), "cuda:1");
  EXPECT_EQ(peak.device().peak().value, 2 * int64_t{kMiB});
}

TEST(PeakDevice, TheUserMaySelectAnotherOne) {
  const TestFolder folder;
  const run::Run run = run_of(folder, {"cpu", "gpu", "cpu"});
  EXPECT_EQ(found_in(run, {{}, "cpu"}).process()->index().value, 2U);
  const uint32_t gpu = run.recording().processes()[1].pid;
  EXPECT_EQ(found_in(run, {gpu, "cpu"}).device().name(), "cpu");
  EXPECT_EQ(found_in(run, {gpu, {}}).device().name(), "cuda:0");
  EXPECT_FALSE(found_in(run, {gpu, "cuda:1"}).found());
}

TEST(NoMemory, NamesTheReason) {
  SpoolBuilder nothing, hidden, here;
  nothing.op("aten::size").end_op();
  hidden.information("cuda_allocator", "cudaMallocAsync").op("aten::size").end_op();
  here.op("aten::empty").alloc(0x1000, kMiB).block(0x10000000, kMiB, kMiB).end_op();
  const trace::Error none = no_memory(nothing.seal(), {}), unseen = no_memory(hidden.seal(), {});
  EXPECT_EQ(none.kind, ErrorKind::nothing_recorded);
  EXPECT_EQ(none.message, "the recording holds no memory of any device: nothing was allocated while it was recorded");
  EXPECT_EQ(unseen.kind, ErrorKind::nothing_recorded);
  EXPECT_NE(unseen.message.find("the program's CUDA allocator is cudaMallocAsync"), std::string::npos);
  const trace::Error other = no_memory(here.seal(), {{}, "cuda:7"});
  EXPECT_EQ(other.kind, ErrorKind::usage);
  EXPECT_NE(other.message.find("(cpu, cuda:0)"), std::string::npos) << other.message;
}

}  // namespace
}  // namespace tapelens::run
