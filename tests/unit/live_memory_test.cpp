// The memory of a process that is followed: categories, the peak, steps, and the same figures as the sealed recording.
#include <fstream>

#include "analyzer/live/followed.h"
#include "analyzer/live/memory.h"
#include "analyzer/live/screen.h"
#include "tests/unit/trace_ring.h"

namespace tapelens::live {
namespace {

using namespace trace;
using testing::Random;

std::unique_ptr<Followed> follow(const std::string& path) {
  auto process = Followed::open(path);
  if (!process) throw std::runtime_error(process.error().message);
  return std::move(*process);
}

void read_all(Followed& process) {
  while (!process.poll()) {
  }
}

const DeviceMemory& device_of(const Followed& process, std::string_view name) {
  for (size_t i = 0; i < 256; ++i)
    if (process.names().device(static_cast<uint8_t>(i)) == name) return process.memory().devices()[i];
  throw std::runtime_error("no device " + std::string(name));
}

uint64_t live(const Followed& process, HolderKind kind, std::string_view device = "cpu") {
  return device_of(process, device).kinds[static_cast<size_t>(kind)].live();
}
uint64_t at_peak(const Followed& process, HolderKind kind, std::string_view device = "cpu") {
  const DeviceMemory& of = device_of(process, device);
  return of.kinds[static_cast<size_t>(kind)].at_peak(of.peaks);
}

TEST(LiveMemory, HasTheCategoriesOfAStep) {
  SpoolBuilder b;
  const auto process = follow(b.path());
  const auto expect = [&](std::map<HolderKind, uint64_t> expected) {
    read_all(*process);
    uint64_t sum = 0;
    for (size_t i = 0; i < kHolderKinds; ++i) {
      const auto kind = static_cast<HolderKind>(i);
      EXPECT_EQ(live(*process, kind), expected[kind]) << peak::category_name(kind);
      sum += expected[kind];
    }
    EXPECT_EQ(device_of(*process, "cpu").live, sum);
  };
  b.op("aten::empty").alloc(1, 1000).end_op();
  expect({{HolderKind::program, 1000}});
  b.role(Role::parameter, "weight", 1, 1000);
  expect({{HolderKind::parameter, 1000}});
  b.op("aten::mm", {1}).alloc(2, 300);
  expect({{HolderKind::parameter, 1000}, {HolderKind::op, 300}});
  b.node("MmBackward0", 0x50, {}, 1).save(0x50, "self", 2, 300).save(0x50, "mat2", 1, 1000).end_op();
  expect({{HolderKind::parameter, 1000}, {HolderKind::save, 300}});
  b.op("aten::relu").alloc(3, 50).end_op();
  expect({{HolderKind::parameter, 1000}, {HolderKind::save, 300}, {HolderKind::program, 50}});
  b.backward().evaluate(0x50).op("aten::mm").alloc(4, 70).end_op();
  expect(
      {{HolderKind::parameter, 1000}, {HolderKind::save, 300}, {HolderKind::program, 50}, {HolderKind::gradient, 70}});
  b.end_evaluation();
  expect({{HolderKind::parameter, 1000}, {HolderKind::program, 350}, {HolderKind::gradient, 70}});
  b.end_backward();
  expect({{HolderKind::parameter, 1000}, {HolderKind::program, 420}});
  b.role(Role::gradient, "weight", 4, 70, 1).alloc(5, 11).role(Role::optimizer_state, "exp_avg", 5, 11, 1);
  b.alloc(6, 7).role(Role::buffer, "mean", 6, 7).node_dies(0x50).free(2).free(3);
  expect({{HolderKind::parameter, 1000},
          {HolderKind::gradient, 70},
          {HolderKind::optimizer_state, 11},
          {HolderKind::buffer, 7}});
  EXPECT_EQ(device_of(*process, "cpu").peak, 1438U);
}

TEST(LiveMemory, KeepsWhatWasAliveAtThePeak) {
  SpoolBuilder b;
  b.op("aten::mm").alloc(1, 100).node("MmBackward0", 0x50, {}, 1).save(0x50, "self", 1, 100).end_op();
  b.op("aten::add").alloc(2, 40).end_op();
  b.node_dies(0x50).free(1).free(2).op("aten::mm").alloc(3, 90).end_op();
  const auto process = follow(b.path());
  read_all(*process);
  EXPECT_EQ(device_of(*process, "cpu").live, 90U);
  EXPECT_EQ(at_peak(*process, HolderKind::save), 100U);
  EXPECT_EQ(at_peak(*process, HolderKind::op), 40U) << "the operator still ran";
  EXPECT_EQ(at_peak(*process, HolderKind::program), 0U);
}

TEST(LiveMemory, ARewriteEndsASave) {
  SpoolBuilder b;
  b.op("aten::gelu").alloc(1, 100).node("GeluBackward0", 0x50, {}, 1).save(0x50, "self", 1, 100).end_op();
  b.rewrite("wide-save", 1, 0x50, "self", 100, 10);
  const auto process = follow(b.path());
  read_all(*process);
  EXPECT_EQ(live(*process, HolderKind::save), 0U);
  EXPECT_EQ(live(*process, HolderKind::program), 100U);
}

TEST(LiveMemory, AFreeRequestLeavesTheMemoryToTheAllocator) {
  SpoolBuilder b;
  b.op("aten::mm").block(0x10, 100, 512).end_op().request_free(0x10);
  const auto process = follow(b.path());
  read_all(*process);
  EXPECT_EQ(live(*process, HolderKind::allocator, "cuda:0"), 100U);
  b.free(0x10, "cuda:0");
  read_all(*process);
  EXPECT_EQ(device_of(*process, "cuda:0").live, 0U);
}

TEST(LiveMemory, CountsStepsAndTheirGrowth) {
  SpoolBuilder b;
  for (uint64_t step = 0; step < 100; ++step) {
    b.op("aten::zeros").alloc(0x1000 + step, 10).end_op().op("aten::mm").alloc(1, 500).end_op().free(1);
    b.optimizer("SGD").end_optimizer();
  }
  const auto process = follow(b.path());
  read_all(*process);
  const DeviceMemory& cpu = device_of(*process, "cpu");
  EXPECT_EQ(process->memory().steps(), 100U);
  EXPECT_EQ(cpu.steps.size(), DeviceMemory::kMostSteps);
  EXPECT_EQ(cpu.steps.back().end, 1000U);
  EXPECT_EQ(cpu.steps.back().peak, 1500U);
  EXPECT_EQ(cpu.peak_step, 99U);
}

TEST(LiveMemory, TheProgramsOwnMarksReplaceTheStepsOfOptimizers) {
  SpoolBuilder b;
  b.op("aten::zeros").alloc(1, 10).end_op().optimizer("SGD").end_optimizer().optimizer("SGD").end_optimizer();
  for (int i = 0; i < 2; ++i) {
    b.optimizer("SGD").end_optimizer();
    b.optimizer(kProgramStep).end_optimizer();
  }
  const auto process = follow(b.path());
  read_all(*process);
  EXPECT_EQ(process->memory().steps(), 2U);
}

// Peaks by device, as the sealer computes them.
std::map<std::string, uint64_t> sealed_peaks(const SealSummary& summary) {
  std::map<std::string, uint64_t> peaks;
  for (const auto& device : summary.processes.front().devices)
    peaks[device.device] = static_cast<uint64_t>(device.peak.value);
  return peaks;
}
std::map<std::string, uint64_t> peaks(const Followed& process) {
  std::map<std::string, uint64_t> peaks;
  for (size_t i = 0; i < 256; ++i) {
    const DeviceMemory& device = process.memory().devices()[i];
    if (device.is_used) peaks[std::string(process.names().device(static_cast<uint8_t>(i)))] = device.peak;
  }
  return peaks;
}

TEST(LiveMemory, HasThePeaksOfTheSealedRecording) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    SpoolBuilder b;
    Program program(b, seed);
    const auto process = follow(b.path());
    Random random(seed);
    for (int step = 0; step < 60; ++step) {
      program.step();
      if (random.one_of(3)) read_all(*process);
    }
    const Sealed sealed = b.seal_all();
    read_all(*process);
    EXPECT_TRUE(process->is_over());
    EXPECT_EQ(process->state(), State::ended);
    EXPECT_EQ(peaks(*process), sealed_peaks(sealed.summary));
    EXPECT_EQ(process->memory().steps(), 60U);
  }
}

TEST(LiveMemory, HasThePeakOfTheWholeRunAlsoOfARingThatItFollowsLate) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    SpoolBuilder ring, all;
    Program program(ring, seed), same(all, seed);
    std::unique_ptr<Followed> process;
    Random random(seed);
    for (int step = 0; step < 60; ++step) {
      program.step();
      same.step();
      if (random.one_of(6)) leave_out(ring.path(), 2);
      if (step == 30) process = follow(ring.path());
      if (process && random.one_of(3)) read_all(*process);
    }
    leave_out(ring.path(), 2);
    ring.finish();
    read_all(*process);
    EXPECT_EQ(process->memory().steps(), 60U);
    EXPECT_EQ(peaks(*process), sealed_peaks(all.seal_all().summary));
  }
}

TEST(LiveMemory, EventsThatAreCommittedLateDoNotChangeTheFinalPeak) {
  SpoolBuilder b;
  b.at(100).op("aten::mm").alloc(1, 100).at(200).free(1).at(300).end_op();
  const auto process = follow(b.path());
  read_all(*process);
  b.thread(2).at(150).op("aten::mm").alloc(2, 70).end_op();
  const Sealed sealed = b.seal_all();
  read_all(*process);
  EXPECT_EQ(peaks(*process), sealed_peaks(sealed.summary));
}

TEST(LiveMemory, NeverCrashesOnDamagedSpools) {
  SpoolBuilder original;
  Program program(original, 3);
  for (int i = 0; i < 30; ++i) program.step();
  original.kill();
  std::ifstream file(original.path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.resize(std::min<size_t>(bytes.size(), kSpoolHeaderBytes + kBlockBytes));
  const TestFolder folder;
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    for (uint32_t flip = 0; flip < 1 + random.upto(100); ++flip) {
      const size_t at = kSpoolHeaderBytes + random.upto(static_cast<uint32_t>(damaged.size() - kSpoolHeaderBytes));
      damaged[at] = static_cast<char>(random.upto(256));
    }
    std::ofstream(folder / "1.spool", std::ios::binary | std::ios::trunc).write(damaged.data(), std::ssize(damaged));
    std::vector<std::unique_ptr<Followed>> processes;
    processes.push_back(follow(folder / "1.spool"));
    read_all(*processes.front());
    ScreenOptions options;
    options.device = random.upto(3);
    EXPECT_FALSE(screen(processes, options).empty());
    EXPECT_FALSE(summary(*processes.front()).empty());
  }
}

TEST(LiveMemory, IsBoundedByTheLiveMemory) {
  SpoolBuilder b;
  const auto process = follow(b.path());
  for (uint64_t i = 0; i < 20'000; ++i) {
    b.op("aten::mm")
        .alloc(16 * i + 16, 8)
        .node("MmBackward0", 16 * i + 24, {}, i)
        .save(16 * i + 24, "self", 16 * i + 16, 8);
    b.end_op().node_dies(16 * i + 24).free(16 * i + 16);
    if (i % 1000 == 0) read_all(*process);
  }
  read_all(*process);
  EXPECT_LE(process->memory().groups().size(), 4U);
  EXPECT_LE(process->memory().devices()[1].history.values(process->now()).size(), History::kMost);
}

TEST(History, KeepsTheHighestValueOfEachInterval) {
  History history;
  for (int64_t i = 0; i < 100'000; ++i) history.note({i * 1'000'000}, {i % 1000 == 7 ? i : 1});
  const std::vector<int64_t> values = history.values({100'000'000'000});
  EXPECT_LE(values.size(), History::kMost);
  EXPECT_EQ(*std::ranges::max_element(values), 99'007);
  EXPECT_GT(history.interval().ns * static_cast<int64_t>(values.size()), 99'000'000'000);
}

TEST(History, AnIntervalWithoutAChangeHasTheLastValue) {
  History history;
  history.note({0}, {5});
  history.note({100'000'000}, {9});
  const std::vector<int64_t> values = history.values({200'000'000});
  ASSERT_GE(values.size(), 20U);
  EXPECT_EQ(values[5], 5);
  EXPECT_EQ(values.back(), 9);
}

}  // namespace
}  // namespace tapelens::live
