// The spool as a program lives with it: threads, limits, full disks, children, death.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/unit/trace_builder.h"
#include "trace/spool_reader.h"

namespace tapelens::trace {
namespace {

SpoolReader read_spool(const std::string& path) {
  auto reader = SpoolReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  return std::move(*reader);
}

uint64_t lost(const SpoolReader& spool, Loss kind) { return spool.facts().lost[static_cast<size_t>(kind)]; }

// Runs a part of a test that changes the process in a child; the test fails unless it exits with 0.
template <class Body>
void in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      code = body() ? 0 : 2;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

EventRecord event_at(uint64_t ticks) {
  return {SpoolBuilder::header<EventRecord>(RecordKind::operator_end, 0, 0), ticks};
}

void put_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
uint64_t write_events(Lane& lane, uint64_t count) {
  uint64_t written = 0;
  for (uint64_t i = 0; i < count; ++i) written += lane.write(event_at(ticks_now()));
  return written;
}
constexpr uint64_t kEventsOfAChunk = 128 * (kBlockPayloadBytes / sizeof(EventRecord));

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
  // What was committed before the spool was opened is in it, at any moment.
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

// Fills a spool until it stops; true if everything that was written is in it and the rest was counted as `kind`.
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
  // A mount needs rights that not every machine gives.
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
    signal(SIGXFSZ, SIG_DFL);  // would kill
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && fills_up(folder / "1.spool", Loss::file_size_limit);
  });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need terabytes of addresses
// Opens a spool, leaves the process `room` bytes of addresses, and writes; true if it then stopped as `stops` says.
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
  // A thread that has not finished its block keeps the blocks around it mapped.
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
    // What an inherited lane still writes stays in the child.
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

// ---- the program's own files ------------------------------------------------------------------------------------

TEST(SpoolFile, NoDescriptorOfItStaysOpen) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x");
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    EXPECT_NE(std::filesystem::read_symlink(entry.path(), gone).string(), b.path());
  }
}

TEST(SpoolFile, AProgramThatClosesEveryDescriptorAndOpensItsOwnFilesKeepsTheirContent) {
  const TestFolder folder;
  in_child([&] {
    SpoolWriter writer;
    if (writer.open((folder / "1.spool").c_str(), {}) != 0) return false;
    Lane lane;
    writer.attach(lane, 1);
    const std::string content(5'700'000, 'c');
    for (int i = 0; i < 40; ++i) put_file(folder / ("checkpoint" + std::to_string(i)), content.substr(0, 70'000));
    put_file(folder / "checkpoint0", content);
    for (int number = 3; number < 1024; ++number) close(number);
    for (int i = 0; i < 40; ++i)
      if (open((folder / ("checkpoint" + std::to_string(i))).c_str(), O_RDWR) < 0) return false;
    const uint64_t tried = 3 * kEventsOfAChunk, written = write_events(lane, tried);
    lane.finish();
    writer.finish();
    bool is_right = written == tried && file_text(folder / "checkpoint0") == content;
    for (int i = 1; i < 40; ++i)
      is_right &= file_text(folder / ("checkpoint" + std::to_string(i))) == content.substr(0, 70'000);
    return is_right && read_spool(folder / "1.spool").events() == tried;
  });
}

TEST(SpoolFile, AnotherThreadMayCloseEveryDescriptorWhileItGrows) {
  const TestFolder folder;
  const std::string content(100'000, 'c');
  put_file(folder / "own", content);
  in_child([&] {
    SpoolWriter writer;
    if (writer.open((folder / "1.spool").c_str(), {}) != 0) return false;
    Lane lane;
    writer.attach(lane, 1);
    std::atomic<bool> ends{false};
    uint64_t bad = 0;
    std::thread closing([&] {
      while (!ends.load()) {
        syscall(SYS_close_range, 3, ~0U, 0);
        const int own = open((folder / "own").c_str(), O_RDWR);
        char read[1];
        bad += own < 0 || pread(own, read, 1, 99'999) != 1 || read[0] != 'c' || lseek(own, 0, SEEK_END) != 100'000;
      }
    });
    const uint64_t tried = 12 * kEventsOfAChunk, written = write_events(lane, tried);
    ends.store(true);
    closing.join();
    lane.finish();
    writer.finish();
    const SpoolReader spool = read_spool(folder / "1.spool");
    const uint64_t counted = lost(spool, Loss::unreachable) + lost(spool, Loss::no_descriptor);
    // A number that is opened anew while the thread closes may be taken from it, which a file that is not there shows.
    return spool.events() == written && written + counted == tried && spool.torn_blocks() == 0 && bad <= 2;
  });
  EXPECT_EQ(file_text(folder / "own"), content);
}

// Writes until the file cannot grow; true if that is counted as what it is, and `other` is as it was.
bool is_out_of_reach(const std::string& path, const std::string& other, const std::function<bool()>& lose_it) {
  SpoolWriter writer;
  if (writer.open(path.c_str(), {}) != 0) return false;
  Lane lane;
  writer.attach(lane, 1);
  if (!lose_it()) return false;
  const uint64_t tried = 2 * kEventsOfAChunk;
  const uint64_t written = write_events(lane, tried);
  lane.finish();
  writer.finish();
  const SpoolReader spool = read_spool(other);
  return written < tried && spool.events() == written && lost(spool, Loss::unreachable) == tried - written;
}

TEST(SpoolFile, ThatWasMovedIsOutOfReachAndWhatStandsInItsPlaceIsLeftAlone) {
  const TestFolder folder;
  const std::string content(100'000, 'c');
  in_child([&] {
    return is_out_of_reach(folder / "1.spool", folder / "moved.spool", [&] {
      std::filesystem::rename(folder / "1.spool", folder / "moved.spool");
      put_file(folder / "1.spool", content);
      return true;
    });
  });
  EXPECT_EQ(file_text(folder / "1.spool"), content);
}

TEST(SpoolFile, IsOutOfReachBehindALinkThatTookItsPlace) {
  const TestFolder folder;
  in_child([&] {
    return is_out_of_reach(folder / "1.spool", folder / "moved.spool", [&] {
      std::filesystem::rename(folder / "1.spool", folder / "moved.spool");
      return symlink((folder / "moved.spool").c_str(), (folder / "1.spool").c_str()) == 0;
    });
  });
}

TEST(SpoolFile, IsOutOfReachAfterChroot) {
  const TestFolder folder, jail;
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  const pid_t child = fork();
  if (child == 0) {
    SpoolWriter writer;
    if (writer.open((folder / "1.spool").c_str(), {}) != 0) _exit(1);
    Lane lane;
    writer.attach(lane, 1);
    if (chroot(jail.path().c_str()) != 0) _exit(2);
    write_events(lane, 2 * kEventsOfAChunk);
    lane.finish();
    writer.finish();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const SpoolReader spool = read_spool(folder / "1.spool");
  EXPECT_TRUE(spool.facts().finished);
  EXPECT_GT(spool.events(), 0U);
  EXPECT_EQ(spool.events() + lost(spool, Loss::unreachable), 2 * kEventsOfAChunk);
}

TEST(SpoolFile, WithEveryDescriptorInUseTheLossSaysSo) {
  const TestFolder folder;
  in_child([&] {
    SpoolWriter writer;
    if (writer.open((folder / "1.spool").c_str(), {}) != 0) return false;
    Lane lane;
    writer.attach(lane, 1);
    std::vector<int> all;
    for (int file = 0; (file = dup(0)) >= 0;) all.push_back(file);
    const uint64_t written = write_events(lane, 2 * kEventsOfAChunk);
    for (const int file : all) close(file);
    lane.finish();
    writer.finish();
    const SpoolReader spool = read_spool(folder / "1.spool");
    return spool.events() == written && lost(spool, Loss::no_descriptor) == 2 * kEventsOfAChunk - written &&
           written > 0;
  });
}

// ---- memory and disk of the program -------------------------------------------------------------------------------

uint64_t status_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t value = 0;
    if (word == key + ":" && status >> value) return value;
  }
  return 0;
}

TEST(SpoolMemory, FinishedBlocksAreNoMemoryOfTheProgram) {
  const TestFolder folder;
  in_child([&] {
    SpoolWriter writer;
    if (writer.open((folder / "1.spool").c_str(), {}) != 0) return false;
    Lane lane;
    writer.attach(lane, 1);
    write_events(lane, 1000);
    const auto resident = [] { return status_kib("RssFile") + status_kib("RssShmem"); };
    const uint64_t resident_before = resident(), addresses_before = status_kib("VmSize");
    const uint64_t tried = 8 * kEventsOfAChunk;
    const bool all = write_events(lane, tried) == tried;
    const uint64_t more = resident() - std::min(resident(), resident_before);
    const uint64_t more_addresses = status_kib("VmSize") - addresses_before;
    lane.finish();
    writer.finish();
    if (more > 1024 || more_addresses > 16 * 1024)
      std::fprintf(stderr, "%zu KiB, %zu KiB\n", size_t(more), size_t(more_addresses));
    return all && more <= 1024 && more_addresses <= 16 * 1024 &&
           read_spool(folder / "1.spool").events() == tried + 1000;
  });
}

TEST(SpoolMemory, AForkedChildLeavesAloneWhatTookThePlaceOfFinishedBlocks) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  Lane lane;
  b.writer().attach(lane, 2);
  write_events(lane, 3 * kEventsOfAChunk);
  constexpr size_t kBytes = 8 << 20;
  std::vector<char*> places;
  for (int i = 0; i < 6; ++i) {
    void* place = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    places.push_back(static_cast<char*>(place));
    std::memset(place, 'p', kBytes);
  }
  in_child([&] {
    b.writer().abandon_in_child();
    lane.finish();
    bool is_right = true;
    for (const char* place : places)
      for (size_t i = 0; i < kBytes; i += 512) is_right &= place[i] == 'p';
    return is_right;
  });
  for (char* place : places) munmap(place, kBytes);
}

TEST(SpoolThreads, TenThousandShortOnesShareTheirBlocks) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  constexpr uint32_t kThreads = 10'000;
  for (uint32_t i = 0; i < kThreads; ++i) {
    Lane lane;
    b.writer().attach(lane, 5000 + i);
    ASSERT_TRUE(lane.write(event_at(2 * i)));
    ASSERT_TRUE(lane.write(event_at(2 * i + 1)));
    lane.leave();
  }
  b.op("x").end_op().finish();
  EXPECT_LT(std::filesystem::file_size(b.path()), size_t{2} << 20);
  const SpoolReader spool = read_spool(b.path());
  EXPECT_EQ(spool.events(), 2 * kThreads + 2);
  EXPECT_EQ(spool.torn_blocks(), 0U);
  ASSERT_EQ(spool.lanes().size(), kThreads + 1);
  EXPECT_EQ(spool.lanes()[1].os_thread, 5000U);
  EXPECT_EQ(spool.lanes()[kThreads].os_thread, 5000U + kThreads - 1);
  std::vector<uint32_t> each(kThreads + 1);
  spool.for_each_event([&](const RecordHeader*, size_t lane, uint64_t) { ++each[lane]; },
                       [](size_t) { ADD_FAILURE() << "nothing is missing"; });
  EXPECT_EQ(std::count(each.begin(), each.end(), 2U), kThreads + 1);
}

TEST(SpoolThreads, ThatComeAndGoAtTheSameTimeKeepTheirOwnRecords) {
  const TestFolder folder;
  const std::string path = folder / "1.spool";
  SpoolWriter writer;
  ASSERT_EQ(writer.open(path.c_str(), {}), 0);
  constexpr uint32_t kWorkers = 4, kRounds = 200;
  std::vector<std::thread> workers;
  for (uint32_t w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      for (uint32_t round = 0; round < kRounds; ++round) {
        Lane lane;
        writer.attach(lane, w * kRounds + round);
        // Some end within the block that they took over, some need further ones.
        const uint64_t count = 1 + (w * kRounds + round) * 37 % 6000;
        for (uint64_t i = 0; i < count; ++i)
          lane.write(NamedEventRecord{
              SpoolBuilder::header<NamedEventRecord>(RecordKind::range_begin, 0, w * kRounds + round), ticks_now()});
        lane.leave();
      }
    });
  }
  for (auto& worker : workers) worker.join();
  writer.finish();
  const SpoolReader spool = read_spool(path);
  EXPECT_EQ(spool.torn_blocks(), 0U);
  ASSERT_EQ(spool.lanes().size(), kWorkers * kRounds);
  std::vector<uint64_t> each(spool.lanes().size());
  uint64_t wrong = 0;
  spool.for_each_event(
      [&](const RecordHeader* record, size_t lane, uint64_t) {
        ++each[lane];
        wrong += record->id != spool.lanes()[lane].os_thread;
      },
      [](size_t) { ADD_FAILURE() << "nothing is missing"; });
  EXPECT_EQ(wrong, 0U);
  for (size_t lane = 0; lane < each.size(); ++lane)
    EXPECT_EQ(each[lane], 1 + uint64_t{spool.lanes()[lane].os_thread} * 37 % 6000);
  writer.close();
}

// ---- the end in a signal handler ----------------------------------------------------------------------------------

SpoolWriter* g_writer = nullptr;
Lane* g_lane = nullptr;

TEST(SpoolEnd, InASignalHandlerComesAtOnceWhateverItInterrupts) {
  const TestFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder / (std::to_string(round) + ".spool");
    const pid_t child = fork();
    if (child == 0) {
      SpoolWriter writer;
      if (writer.open(path.c_str(), {}) != 0) _exit(1);
      Lane lane;
      writer.attach(lane, 1);
      g_writer = &writer;
      g_lane = &lane;
      signal(SIGALRM, [](int) {
        g_lane->finish();
        g_writer->finish();
        _exit(0);
      });
      lane.write(event_at(ticks_now()));
      const struct itimerval soon {
        {0, 0}, { 0, 1000 + 997 * round }
      };
      setitimer(ITIMER_REAL, &soon, nullptr);
      for (uint64_t i = 0;; ++i) {
        lane.write(event_at(ticks_now()));
        if (i % 64 != 0) continue;
        Lane brief;
        writer.attach(brief, 2);
        brief.write(event_at(ticks_now()));
        brief.leave();
      }
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    const SpoolReader spool = read_spool(path);
    EXPECT_TRUE(spool.facts().finished);
    EXPECT_EQ(spool.torn_blocks(), 0U);
    EXPECT_GT(spool.events(), 0U);
  }
}

TEST(SpoolEnd, ByExecIsAGoodOneUnlessItFails) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x").end_op();
  b.writer().replaced(true);
  EXPECT_TRUE(read_spool(b.path()).facts().finished);
  b.writer().replaced(false);
  EXPECT_FALSE(read_spool(b.path()).facts().finished);
  b.finish();
  b.writer().replaced(true);
  b.writer().replaced(false);
  EXPECT_TRUE(read_spool(b.path()).facts().finished) << "it had ended before";
}

}  // namespace
}  // namespace tapelens::trace
