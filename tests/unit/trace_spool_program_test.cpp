// A spool must not change the program's files, descriptors, memory, threads or exit.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/unit/trace_spools.h"

namespace tapelens::trace {
namespace {

void put_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
        // Raw system calls: ThreadSanitizer reports a race if two threads use one descriptor number one after the
        // other.
        const long own = syscall(SYS_openat, AT_FDCWD, (folder / "own").c_str(), O_RDWR);
        char read[1];
        bad += own < 0 || syscall(SYS_pread64, own, read, 1, 99'999) != 1 || read[0] != 'c' ||
               syscall(SYS_lseek, own, 0, SEEK_END) != 100'000;
      }
    });
    const uint64_t tried = 12 * kEventsOfAChunk, written = write_events(lane, tried);
    ends.store(true);
    closing.join();
    lane.finish();
    writer.finish();
    const SpoolReader spool = read_spool(folder / "1.spool");
    const uint64_t counted = lost(spool, Loss::unreachable) + lost(spool, Loss::no_descriptor);
    // If a descriptor number is opened again while the thread closes it, the thread can close the new file. A missing
    // file shows that.
    return spool.events() == written && written + counted == tried && spool.torn_blocks() == 0 && bad <= 2;
  });
  EXPECT_EQ(file_text(folder / "own"), content);
}

// Writes until the file cannot grow. True if the loss is counted by its cause and `other` is unchanged.
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
        // Some threads end within their inherited block, some need further blocks.
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

// ---- exit in a signal handler -------------------------------------------------------------------------------------

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
