// Known bytes of a simulated GPU, queried from the library as the probe does.
#ifdef TAPELENS_GPU_LIBRARY
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "simulated/known/known.h"
#include "simulated/settings/settings.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::simulated {
namespace {

constexpr size_t kLarge = kKeptBytes + 1;
size_t g_read = 0;             // bytes of the last copy that read unknown bytes
bool g_program_reads = false;  // the callback's result

struct Library {
  Library() {
    GpuSettings gpu;
    gpu.bytes = uint64_t{1} << 30;
    char text[512];
    write(gpu, text, sizeof(text));
    setenv(kSettingsVariable, text, 1);
    handle = dlopen(TAPELENS_GPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    known = static_cast<const KnownTable*>(dlsym(handle, kKnownTable));
    find(allocate, "cudaMalloc"), find(release, "cudaFree"), find(copy, "cudaMemcpy"), find(fill, "cudaMemset");
    known->watch_reads([](size_t bytes) {
      g_read = bytes;
      return g_program_reads;
    });
  }
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
  }

  void* handle = nullptr;
  const KnownTable* known = nullptr;
  int (*allocate)(void**, size_t) = nullptr;
  int (*release)(void*) = nullptr;
  int (*copy)(void*, const void*, size_t, int) = nullptr;
  int (*fill)(void*, int, size_t) = nullptr;
};

Library& gpu() {
  static Library library;
  return library;
}

class Known : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(gpu().handle, nullptr) << dlerror();
    ASSERT_EQ(gpu().known->version, kKnownVersion);
    void* memory = nullptr;
    ASSERT_EQ(gpu().allocate(&memory, 1 << 20), 0);
    memory_ = static_cast<char*>(memory);
    g_read = 0;
  }
  void TearDown() override { gpu().release(memory_); }

  bool is_known(size_t from, size_t bytes) const { return gpu().known->is_known(memory_ + from, bytes); }
  size_t read(size_t from, size_t bytes) {
    g_read = 0;
    std::vector<char> host(bytes, 1);
    gpu().copy(host.data(), memory_ + from, bytes, 2);
    return g_read;
  }

  char* memory_ = nullptr;
};

TEST_F(Known, MemoryThatIsNewIsUnknown) {
  EXPECT_FALSE(is_known(0, 1));
  EXPECT_EQ(read(0, 8), 8U);
}

TEST_F(Known, SmallCopiesFromTheHostAndFillsAreKnown) {
  const char host[16] = {};
  gpu().copy(memory_ + 100, host, sizeof(host), 1);
  gpu().fill(memory_ + 116, 0, 4);
  EXPECT_TRUE(is_known(100, 20));
  EXPECT_FALSE(is_known(99, 2));
  EXPECT_FALSE(is_known(100, 21));
  EXPECT_EQ(read(100, 20), 0U);
}

TEST_F(Known, LargeOnesAreNot) {
  gpu().fill(memory_, 0, 64);
  const std::vector<char> host(kLarge);
  gpu().copy(memory_, host.data(), kLarge, 1);
  EXPECT_FALSE(is_known(0, 1)) << "it was, before";
  gpu().fill(memory_, 0, kLarge);
  EXPECT_FALSE(is_known(0, 1));
}

TEST_F(Known, ACopyOnTheGpuIsAsKnownAsWhatItCopies) {
  gpu().fill(memory_, 7, 64);
  gpu().copy(memory_ + 1000, memory_, 128, 3);
  EXPECT_TRUE(is_known(1000, 64));
  EXPECT_FALSE(is_known(1000, 65));
}

TEST_F(Known, ALargeCopyToTheHostIsZeroAndUnknown) {
  for (size_t at = 0; at < kLarge; at += kKeptBytes / 2) gpu().fill(memory_ + at, 7, kKeptBytes / 2);
  EXPECT_TRUE(is_known(0, kLarge));
  EXPECT_EQ(read(0, kLarge), kLarge);
}

// Each death test runs in a child process and writes a separate file.
TEST_F(Known, AProcessThatReadUnknownValuesAndFailedHasAFile) {
  const test::TemporaryFolder folder;
  setenv(TAPELENS_SIMULATED_READS, folder.path().c_str(), 1);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder.path()), {}); };
  const auto ends_with = [&](int exit_code, bool program_reads, size_t from) {
    EXPECT_EXIT(
        {
          g_program_reads = program_reads;
          read(from, 8);
          exit(exit_code);
        },
        testing::ExitedWithCode(exit_code), "");
  };
  gpu().fill(memory_, 0, 8);
  ends_with(1, true, 0);
  EXPECT_EQ(files(), 0) << "they were known";
  ends_with(1, false, 8);
  EXPECT_EQ(files(), 0) << "the probe read them";
  ends_with(0, true, 8);
  EXPECT_EQ(files(), 0) << "it ended well";
  ends_with(1, true, 8);
  EXPECT_EQ(files(), 1);
}

TEST_F(Known, TheProbeSaysWhatOperatorsWrote) {
  gpu().known->set_known(memory_ + 8, 8, true);
  EXPECT_TRUE(is_known(8, 8));
  gpu().known->set_known(memory_, kLarge, false);
  EXPECT_FALSE(is_known(8, 1));
}

TEST_F(Known, MemoryOfTheHostIsNotOfTheGpu) {
  char host[8] = {};
  EXPECT_FALSE(gpu().known->is_known(host, sizeof(host)));
  gpu().known->set_known(host, sizeof(host), true);
  EXPECT_FALSE(gpu().known->is_known(host, sizeof(host)));
}

TEST_F(Known, EachCommunicatorOfNcclIsToldOnce) {
  int (*make_all)(void**, int, const int*) = nullptr;
  int (*split)(void*, int, int, void**, void*) = nullptr;
  int (*destroy)(void*) = nullptr;
  gpu().find(make_all, "ncclCommInitAll"), gpu().find(split, "ncclCommSplit"), gpu().find(destroy, "ncclCommDestroy");
  void *before[2] = {}, *after = nullptr, *nobody = nullptr;
  ASSERT_EQ(make_all(before, 2, nullptr), 0);
  static std::vector<std::pair<int, int>> made;
  gpu().known->watch_communicators([](int device, int ranks) { made.emplace_back(device, ranks); });
  EXPECT_EQ(made, (std::vector<std::pair<int, int>>{{0, 2}, {0, 2}})) << "those that were made before";
  ASSERT_EQ(split(before[0], 0, 0, &after, nullptr), 0);
  ASSERT_EQ(split(before[0], -1, 0, &nobody, nullptr), 0);
  EXPECT_EQ(nobody, nullptr) << "this rank is in no part";
  EXPECT_EQ(made, (std::vector<std::pair<int, int>>{{0, 2}, {0, 2}, {0, 0}}));
  for (void* communicator : {before[0], before[1], after}) destroy(communicator);
}

}  // namespace
}  // namespace tapelens::simulated
#endif
