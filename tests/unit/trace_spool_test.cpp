// A spool in a running program: threads, limits, full disks, children, death.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/unit/trace_spools.h"

namespace tapelens::trace {
namespace {

TEST(Spool, FourThreadsThatWriteWhileItIsReadLoseNothing) {
  const TestFolder folder;
  const std::string path = folder / "1.spool";
  SpoolWriter writer;
  ASSERT_EQ(writer.open(path.c_str(), {}), 0);
  constexpr size_t kThreads = 4;
  constexpr uint64_t kEach = 100'000;
  std::array<std::atomic<uint64_t>, kThreads> committed{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Lane lane;
      writer.attach(lane, static_cast<uint32_t>(t));
      for (uint64_t i = 0; i < kEach; ++i) {
        ASSERT_TRUE(lane.write(event_at(ticks_now())));
        committed[t].store(i + 1, std::memory_order_release);
      }
      lane.finish();
    });
  }
  // A spool contains every event that was committed before it was opened.
  for (int round = 0; round < 10; ++round) {
    uint64_t before = 0;
    for (const auto& count : committed) before += count.load(std::memory_order_acquire);
    const SpoolReader spool = read_spool(path);
    EXPECT_GE(spool.events(), before);
    EXPECT_EQ(spool.torn_blocks(), 0U);
  }
  for (auto& thread : threads) thread.join();
  writer.finish();
  const SpoolReader spool = read_spool(path);
  EXPECT_EQ(spool.events(), kThreads * kEach);
  EXPECT_EQ(spool.lanes().size(), kThreads);
  uint64_t seen = 0, last = 0;
  spool.for_each_event(
      [&](const RecordHeader*, size_t, uint64_t ticks) {
        EXPECT_GE(ticks, last);
        last = ticks;
        ++seen;
      },
      [](size_t) { ADD_FAILURE() << "nothing is missing"; });
  EXPECT_EQ(seen, kThreads * kEach);
  writer.close();
}

TEST(Spool, StopsAtItsMostBytesAndCountsWhatWasRefused) {
  const TestFolder folder;
  const std::string path = folder / "1.spool";
  SpoolWriter writer;
  SpoolLimits limits;
  limits.max_bytes = 20 << 20;
  ASSERT_EQ(writer.open(path.c_str(), limits), 0);
  Lane lane;
  writer.attach(lane, 1);
  constexpr uint64_t kTries = 2'000'000;
  uint64_t written = 0;
  for (uint64_t i = 0; i < kTries; ++i) written += lane.write(event_at(i));
  EXPECT_TRUE(writer.stopped());
  lane.finish();
  writer.finish();
  EXPECT_LE(std::filesystem::file_size(path), limits.max_bytes);
  EXPECT_GT(std::filesystem::file_size(path), limits.max_bytes - 2 * kBlockBytes) << "all of it is used";
  const SpoolReader spool = read_spool(path);
  EXPECT_EQ(spool.events(), written);
  EXPECT_EQ(lost(spool, Loss::size_limit), kTries - written);
  EXPECT_EQ(spool.torn_blocks(), 0U);
  writer.close();
}

TEST(Spool, OfASmallRecordingIsSmallOnceItIsFinished) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  EXPECT_GT(std::filesystem::file_size(b.path()), size_t{8} << 20) << "space is reserved ahead";
  b.op("x").end_op().finish();
  EXPECT_EQ(std::filesystem::file_size(b.path()), kSpoolHeaderBytes + kBlockBytes);
}

TEST(Spool, RefusesToOverwriteAFile) {
  const TestFolder folder;
  const SpoolBuilder b(folder, "1.spool");
  SpoolWriter second;
  EXPECT_EQ(second.open(b.path().c_str(), {}), EEXIST);
  EXPECT_EQ(second.open((folder / "no/folder").c_str(), {}), ENOENT);
}

TEST(Spool, ARecordLargerThanABlockIsRefusedAndCountedWithoutStopping) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  Lane lane;
  b.writer().attach(lane, 1);
  EXPECT_EQ(lane.reserve(kBlockPayloadBytes + 8), nullptr);
  EXPECT_NE(lane.reserve(kBlockPayloadBytes), nullptr);
  b.op("x").end_op().finish();
  EXPECT_EQ(lost(read_spool(b.path()), Loss::truncated_text), 1U);
}

TEST(Spool, WritesAfterItsEndReachNoFileAndDoNoHarm) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  Lane late;
  b.writer().attach(late, 9);
  b.op("x").end_op().finish();
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(late.write(event_at(1)));
  EXPECT_EQ(read_spool(b.path()).events(), 2U);
}

// Fills a spool until it stops. True if it has every written event and counts the rest as `kind`.
bool fills_up(const std::string& path, Loss kind) {
  SpoolWriter writer;
  if (const int error = writer.open(path.c_str(), {}); error != 0) {
    std::fprintf(stderr, "open: %s\n", std::strerror(error));
    return false;
  }
  Lane lane;
  writer.attach(lane, 1);
  uint64_t written = 0, refused = 0;
  while (refused < 1000) lane.write(event_at(1)) ? ++written : ++refused;
  const SpoolReader spool = read_spool(path);
  const bool is_right = spool.events() == written && lost(spool, kind) == refused && written > 100'000;
  if (!is_right)
    std::fprintf(stderr, "written %llu, read %llu, refused %llu, counted %llu\n",
                 static_cast<unsigned long long>(written), static_cast<unsigned long long>(spool.events()),
                 static_cast<unsigned long long>(refused), static_cast<unsigned long long>(lost(spool, kind)));
  return is_right;
}

TEST(Spool, TheReserveOfADiskStopsTheRecordingAndNotTheProgram) {
  const TestFolder folder;
  // Mounting needs privileges that not every machine grants.
  if (mount("tapelens-test", folder.path().c_str(), "tmpfs", 0, "size=20m") != 0)
    GTEST_SKIP() << "no tmpfs can be mounted: " << std::strerror(errno);
  in_child([&] { return fills_up(folder / "1.spool", Loss::disk_reserve); });
  struct statvfs disk {};
  ASSERT_EQ(statvfs(folder.path().c_str(), &disk), 0);
  EXPECT_GE(disk.f_bavail * 20, disk.f_blocks) << "the program's own files find no room";
  EXPECT_EQ(umount2(folder.path().c_str(), MNT_DETACH), 0);
}

TEST(Spool, AFileSizeLimitStopsTheRecordingWithoutItsSignal) {
  const TestFolder folder;
  in_child([&] {
    const struct rlimit limit { 20 << 20, 20 << 20 };
    signal(SIGXFSZ, SIG_DFL);  // the default action kills the process
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && fills_up(folder / "1.spool", Loss::file_size_limit);
  });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers need terabytes of addresses
// Opens a spool, leaves the process `room` bytes of addresses, and writes. True if the spool then stopped as `stops`
// expects.
bool with_addresses(const std::string& path, rlim_t room, bool stops) {
  SpoolWriter writer;
  if (writer.open(path.c_str(), {}) != 0) return false;
  Lane lane;
  writer.attach(lane, 1);
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  const rlim_t most = pages * 4096 + room;
  const struct rlimit limit { most, most };
  if (setrlimit(RLIMIT_AS, &limit) != 0) return false;
  // A thread with an unfinished block keeps the blocks around it mapped.
  Lane idle;
  writer.attach(idle, 2);
  if (stops) idle.write(event_at(1));
  uint64_t written = 0;
  for (int i = 0; i < 4'000'000; ++i) written += lane.write(event_at(1));
  return writer.stopped() == stops && written > 100'000;
}

TEST(Spool, AnAddressSpaceLimitStopsTheRecordingAndNotTheProgram) {
  const TestFolder folder;
  in_child([&] { return with_addresses(folder / "1.spool", 2 << 20, true); });
  const SpoolReader spool = read_spool(folder / "1.spool");
  EXPECT_GT(lost(spool, Loss::no_memory), 0U);
  EXPECT_EQ(spool.events() + lost(spool, Loss::no_memory), 4'000'001U);
}

TEST(Spool, ALongRecordingTakesNoMoreAddressesThanAShortOne) {
  const TestFolder folder;
  in_child([&] { return with_addresses(folder / "1.spool", 20 << 20, false); });
  EXPECT_EQ(read_spool(folder / "1.spool").events(), 4'000'000U);
}
#endif

TEST(Spool, AForkedChildIsCountedAndWritesNothing) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x");
  in_child([&] {
    b.writer().abandon_in_child();
    // Events that an inherited lane writes do not leave the child.
    for (int i = 0; i < 10'000; ++i) b.op("in the child");
    b.writer().count(Loss::truncated_text);
    b.finish();
    return b.writer().stopped();
  });
  b.end_op().finish();
  const SpoolReader spool = read_spool(b.path());
  EXPECT_EQ(spool.facts().forked_children, 1U);
  EXPECT_EQ(spool.events(), 2U);
  EXPECT_EQ(lost(spool, Loss::truncated_text), 0U);
  EXPECT_TRUE(spool.facts().finished);
  EXPECT_EQ(spool.torn_blocks(), 0U);
}

TEST(Spool, OfAKilledProcessHoldsEveryRecordThatWasCommitted) {
  const TestFolder folder;
  const std::string path = folder / "1.spool";
  const pid_t child = fork();
  if (child == 0) {
    SpoolWriter writer;
    if (writer.open(path.c_str(), {}) != 0) _exit(1);
    Lane lane;
    writer.attach(lane, 1);
    for (uint64_t i = 0; i < 50'000; ++i) lane.write(event_at(i));
    lane.reserve(16);  // and not committed
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const SpoolReader spool = read_spool(path);
  EXPECT_EQ(spool.events(), 50'000U);
  EXPECT_FALSE(spool.facts().finished);
  EXPECT_EQ(spool.torn_blocks(), 0U);
}

TEST(Spool, ABlockWithAWrongChecksumIsLeftOutAndCounted) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  for (int i = 0; i < 10'000; ++i) b.op("x").end_op();
  b.finish();
  const uint64_t before = read_spool(b.path()).events();
  ASSERT_EQ(before, 20'000U);
  std::fstream file(b.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kSpoolHeaderBytes + kBlockBytes + kBlockHeaderBytes + 5000);
  file.put('\x7f');
  file.close();
  const SpoolReader spool = read_spool(b.path());
  EXPECT_EQ(spool.torn_blocks(), 1U);
  EXPECT_LT(spool.events(), before);
  int gaps = 0;
  spool.for_each_event([](const RecordHeader*, size_t, uint64_t) {}, [&](size_t) { ++gaps; });
  EXPECT_EQ(gaps, 1);
}

TEST(Spool, TheErrnoOfTheProgramIsLeftAlone) {
  const TestFolder folder;
  SpoolWriter writer;
  SpoolLimits limits;
  limits.max_bytes = 1 << 20;
  ASSERT_EQ(writer.open((folder / "1.spool").c_str(), limits), 0);
  Lane lane;
  writer.attach(lane, 1);
  errno = EDOM;
  while (!writer.stopped()) lane.write(event_at(1));
  EXPECT_EQ(errno, EDOM);
  writer.close();
}

}  // namespace
}  // namespace tapelens::trace
