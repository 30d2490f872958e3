// The GPUs of this machine by NVML, for which a small library stands in: two H100s and an L4.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cli/machine_gpus.h"

namespace tapelens::cli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<MachineGpu> fake(const char* how = "") {
  setenv("FAKE_NVML", how, 1);
  std::vector<MachineGpu> gpus = machine_gpus(TAPELENS_TEST_NVML);
  unsetenv("FAKE_NVML");
  return gpus;
}

// The UUIDs of the visible GPUs; "?": not known.
std::string seen(const char* visible, const char* order = nullptr, const char* how = "") {
  const auto gpus = visible_gpus(fake(how), visible, order);
  if (!gpus) return "?";
  std::string text;
  for (const MachineGpu& gpu : *gpus) text += (text.empty() ? "" : " ") + gpu.uuid;
  return text;
}

TEST(MachineGpus, AreThoseOfTheLibrary) {
  const std::vector<MachineGpu> gpus = fake();
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[1].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpus[1].uuid, "GPU-bbbb0001");
  EXPECT_EQ(gpus[1].bytes, 81559 * kMiB);
  EXPECT_EQ(gpus[1].free, (81559 - 4551) * kMiB);
  EXPECT_TRUE(machine_gpus("libnot-there.so").empty());
  EXPECT_TRUE(machine_gpus("libc.so.6").empty()) << "a library without the functions";
  EXPECT_TRUE(fake("none").empty()) << "no driver";
}

TEST(MachineGpus, CudasVariableSelectsOnesByUuid) {
  EXPECT_EQ(seen(nullptr), "GPU-aaaa0000 GPU-bbbb0001 GPU-bbbb0002");
  EXPECT_EQ(seen(""), "");
  EXPECT_EQ(seen("-1"), "");
  EXPECT_EQ(seen("GPU-aa"), "GPU-aaaa0000");
  EXPECT_EQ(seen("GPU-bbbb0002,GPU-aa"), "GPU-bbbb0002 GPU-aaaa0000");
  EXPECT_EQ(seen("GPU-bbbb"), "?") << "names two";
  EXPECT_EQ(seen("MIG-aaaa"), "?");
}

TEST(MachineGpus, CudasNumbersOfDifferentGpusAreKnownInOneOrderOnly) {
  EXPECT_EQ(seen("2"), "?");
  EXPECT_EQ(seen("2", "FASTEST_FIRST"), "?");
  EXPECT_EQ(seen("2", "PCI_BUS_ID"), "GPU-bbbb0002");
  EXPECT_EQ(seen("1,0,-1,2", "PCI_BUS_ID"), "GPU-bbbb0001 GPU-aaaa0000");
  EXPECT_EQ(seen("0,7,1", "PCI_BUS_ID"), "GPU-aaaa0000");
  EXPECT_EQ(seen(nullptr, nullptr, "divided"), "?") << "CUDA shows an instance";
}

TEST(MachineGpus, EqualOnesOfAKnownCardCanBeSimulated) {
  const std::vector<MachineGpu> gpus = fake();
  EXPECT_FALSE(simulated_like({}));
  EXPECT_FALSE(simulated_like(gpus)) << "different cards";
  EXPECT_FALSE(simulated_like({{"NVIDIA Unknown 1", "GPU-1", 1 << 30, 1 << 30}}));
  const auto alike = simulated_like({gpus[0], gpus[1]});
  ASSERT_TRUE(alike);
  EXPECT_EQ(std::string(alike->name), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(alike->count, 2u);
  EXPECT_EQ(alike->processors, 132u);
}

TEST(MachineGpus, ContextAndKernelsAreNotUsable) {
  EXPECT_EQ(usable_bytes(81008 * kMiB, "NVIDIA H100 80GB HBM3"), (81008 - 132 * 4 - 240) * kMiB);
  EXPECT_EQ(usable_bytes(4096 * kMiB, "NVIDIA Unknown 1"), 3072 * kMiB);
  EXPECT_EQ(usable_bytes(100 * kMiB, "NVIDIA L4"), 0u);
}

}  // namespace
}  // namespace tapelens::cli
