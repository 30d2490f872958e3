// Spools and recordings of several processes, of dead ones, and with random content: the sealer never crashes.
#include <dlfcn.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "testing/trace_builder.h"
#include "trace/ticks.h"

namespace tapelens::trace {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);  // overwriting a file costs a flush to the disk on some file systems
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

uint64_t lost(const SealSummary& summary, Loss kind) {
  for (const auto& loss : summary.losses)
    if (loss.kind == kind) return loss.count;
  return 0;
}

Result<SealSummary> seal_quietly(const TestFolder& folder) {
  std::filesystem::remove(folder / "run.tapelens");
  SealOptions options;
  options.directory = folder.path();
  options.output = folder / "run.tapelens";
  return seal(options);
}

// Reads every column of every process, as an analyzer would.
void read_everything(const std::string& path) {
  auto r = Recording::open(path);
  ASSERT_TRUE(r) << r.error().message;
  uint64_t sum = 0;
  for (uint32_t p = 0; p < r->processes().size(); ++p) {
    for (const uint64_t v : r->column(column<table::Operators>.begin, {p})) sum += v;
    for (const uint32_t v : r->column(column<table::Saves>.allocation, {p})) sum += v;
    for (const uint32_t v : r->column(column<table::NodeEdges>.node, {p})) sum += v;
    for (const uint32_t v : r->column(column<table::Rewrites>.node, {p})) sum += v;
    for (const uint64_t v : r->column(column<table::Checksums>.value, {p})) sum += v;
  }
  EXPECT_GE(sum, 0U);
}

TEST(SealOfProcesses, TwoProcessesShareOneFileWithTheirStringsOnce) {
  const TestFolder folder;
  SpoolBuilder first(folder, "a.spool"), second(folder, "b.spool");
  second.information("rank", "0").op("aten::mm").alloc(0x10, 8).end_op().op("only second").end_op().finish();
  first.information("rank", "1").op("only first").end_op().op("aten::mm").alloc(0x20, 16).end_op().finish();
  const Sealed sealed = seal_folder(folder);
  const Recording& r = sealed.recording;
  ASSERT_EQ(r.processes().size(), 2U);
  EXPECT_EQ(r.processes()[0].rank, 0) << "ranks come in their order";
  EXPECT_EQ(r.processes()[1].rank, 1);
  EXPECT_EQ(r.column(column<table::Operators>.name, {0})[1], r.column(column<table::Operators>.name, {1})[2]);
  EXPECT_EQ(r.column(column<table::Allocations>.bytes, {0})[1], 8U);
  EXPECT_EQ(r.column(column<table::Allocations>.bytes, {1})[1], 16U);
  EXPECT_EQ(r.column(column<table::Allocations>.device, {0})[1], r.column(column<table::Allocations>.device, {1})[1]);
  EXPECT_EQ(r.rows(Table::devices, {1}), 1U);
  EXPECT_EQ(sealed.summary.events, 10U);
}

TEST(SealOfProcesses, AProcessThatRanNoOperatorLeavesNothing) {
  const TestFolder folder;
  SpoolBuilder idle(folder, "idle.spool"), busy(folder, "busy.spool");
  idle.alloc(0x10, 8).finish();
  busy.op("x").end_op().finish();
  EXPECT_EQ(seal_folder(folder).recording.processes().size(), 1U);
}

TEST(SealOfProcesses, WithoutAProcessThatRanAnOperatorThereIsNoFile) {
  const TestFolder folder;
  SpoolBuilder idle(folder, "idle.spool");
  idle.alloc(0x10, 8).finish();
  write_file(folder / "empty.spool", "");
  write_file(folder / "zeros.spool", std::string(100'000, '\0'));
  const auto summary = seal_quietly(folder);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_TRUE(summary->processes.empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "run.tapelens"));
}

TEST(SealOfProcesses, AKilledProcessIsSealedAsTruncated) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x").alloc(0x10, 8);
  b.kill();
  const Sealed sealed = seal_folder(folder);
  EXPECT_FALSE(sealed.recording.processes()[0].finished);
  EXPECT_EQ(lost(sealed.summary, Loss::truncated_spool), 1U);
  EXPECT_EQ(sealed.recording.rows(Table::allocations, {}), 1U);
}

TEST(SealOfProcesses, ForkedChildrenAreALoss) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x").end_op().finish();
  const uint32_t three = 3;
  std::fstream file(b.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(SpoolHeader, forked_children));
  file.write(reinterpret_cast<const char*>(&three), sizeof(three));
  file.close();
  EXPECT_EQ(lost(seal_folder(folder).summary, Loss::forked_child), 3U);
}

// The blocks' checksums stay right, since they cover only the records.
void set_version(const SpoolBuilder& b, uint16_t major, uint16_t minor) {
  std::fstream file(b.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(SpoolHeader, minor));
  file.write(reinterpret_cast<const char*>(&minor), sizeof(minor));
  file.seekp(offsetof(SpoolHeader, major));
  file.write(reinterpret_cast<const char*>(&major), sizeof(major));
}

TEST(SealOfProcesses, ASpoolOfAVersionThatIsNotReadIsRefusedWithWhatToDo) {
  struct Case {
    unsigned major, minor;
    std::string fix;
  };
  const std::string the_same = "seal it with the tapelens that recorded it";
  for (const auto& [major, minor, fix] :
       {Case{kSpoolMajor, kSpoolMinor + 1, the_same + ", or a newer one"},
        Case{kSpoolMajor + 1, 0, the_same + ", or a newer one"}, Case{kSpoolMajor, kOldestSpoolMinor - 1, the_same}}) {
    const TestFolder folder;
    SpoolBuilder b(folder, "1.spool");
    b.op("x").end_op().finish();
    set_version(b, static_cast<uint16_t>(major), static_cast<uint16_t>(minor));
    const auto summary = seal_quietly(folder);
    ASSERT_FALSE(summary) << major << "." << minor;
    EXPECT_EQ(summary.error().message,
              folder / ("1.spool: offset 8: a spool of format version " + std::to_string(major) + "." +
                        std::to_string(minor) + ", this tapelens reads " + std::to_string(kSpoolMajor) + "." +
                        std::to_string(kOldestSpoolMinor) + " to " + std::to_string(kSpoolMajor) + "." +
                        std::to_string(kSpoolMinor) + ": " + fix));
    EXPECT_FALSE(std::filesystem::exists(folder / "run.tapelens"));
  }
}

TEST(SealOfProcesses, ASpoolOfAnOlderMinorVersionIsSealed) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x").alloc(0x10, 64).end_op().finish();
  set_version(b, kSpoolMajor, kSpoolMinor - 1);
  const Sealed sealed = seal_folder(folder);
  EXPECT_EQ(sealed.recording.rows(Table::operators, {}), 1U);
  EXPECT_EQ(sealed.recording.rows(Table::allocations, {}), 1U);
  EXPECT_TRUE(sealed.summary.losses.empty());
}

TEST(SealOfProcesses, RecordsOfAKindThatIsNotKnownArePassedOverAndCountedAsLost) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  const auto unknown = [&b](uint8_t kind) {
    b.raw(EventRecord{SpoolBuilder::header<EventRecord>(RecordKind{kind}, 0, 1), 20}, "more", 4);
  };
  b.op("x");
  for (const uint8_t kind : {uint8_t{0}, uint8_t{60}, uint8_t{200}, uint8_t{255}}) unknown(kind);
  b.alloc(0x10, 64).end_op().finish();
  const Sealed sealed = seal_folder(folder);
  EXPECT_EQ(sealed.recording.column(column<table::Allocations>.op), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(sealed.recording.rows(Table::operator_ends, {}), 1U);
  EXPECT_EQ(sealed.recording.events(), 3U);
  ASSERT_EQ(sealed.summary.losses.size(), 1U);
  EXPECT_EQ(lost(sealed.summary, Loss::unknown_record), 4U);
}

TEST(SealOfProcesses, ASpoolThatIsNoRegularFileIsSaidAndNotWaitedFor) {
  const TestFolder folder;
  ASSERT_EQ(mkfifo((folder / "1.spool").c_str(), 0600), 0);
  const auto summary = seal_quietly(folder);
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("1.spool: cannot be read: not a regular file"), std::string::npos)
      << summary.error().message;
}

TEST(SealOfProcesses, AMappingOfWhatIsNoRegularFileIsNotOpened) {
  const TestFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  SpoolBuilder b(folder, "1.spool");
  b.mapping(folder / "pipe", 0x1000, 0x2000, 0).op("x", {}, b.native_stack({0x1100})).end_op().finish();
  const Sealed sealed = seal_folder(folder);
  EXPECT_EQ(sealed.recording.rows(Table::operators, {}), 1U);
}

TEST(SealOfProcesses, HolesOfASpoolAreNotRead) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("x").end_op().finish();
#if defined(__SANITIZE_THREAD__)
  constexpr uint64_t kBytes = uint64_t{1} << 36;  // ThreadSanitizer does not always have room for a larger mapping
#else
  constexpr uint64_t kBytes = uint64_t{1} << 40;
#endif
  std::error_code error;
  std::filesystem::resize_file(b.path(), kBytes, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  const uint64_t claimed = (kBytes - kSpoolHeaderBytes) / kBlockBytes;
  std::fstream file(b.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(SpoolHeader, claimed_blocks));
  file.write(reinterpret_cast<const char*>(&claimed), sizeof(claimed));
  file.close();
  const Sealed sealed = seal_folder(folder);
  EXPECT_EQ(sealed.recording.rows(Table::operators, {}), 1U);
}

TEST(SealOfProcesses, AFolderThatIsNotThereIsAnError) {
  SealOptions options;
  options.directory = "/no/such/folder";
  options.output = "/no/such/file";
  const auto summary = seal(options);
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("/no/such/folder: cannot be read: No such file"), std::string::npos);
}

TEST(SealOfProcesses, TheCommandIsThatOfTheSpoolsWhenNoneIsGiven) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.information("command", "python a.py").op("x").end_op().finish();
  ASSERT_TRUE(seal_quietly(folder));
  auto r = Recording::open(folder / "run.tapelens");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->command(), "python a.py");
}

TEST(SealOfProcesses, AMissingBlockClosesWhatWasOpenOnItsThread) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  b.op("outer");
  while (std::filesystem::file_size(b.path()) > 0 && b.now() < 40'000) b.op("x").end_op();  // more than one block
  b.end_op().op("after").end_op().finish();
  // The first block is damaged and with it the begin of "outer".
  std::fstream file(b.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kSpoolHeaderBytes + kBlockHeaderBytes + 200);
  file.put('\x7f');
  file.close();
  const Sealed sealed = seal_folder(folder);
  EXPECT_EQ(lost(sealed.summary, Loss::torn_block), 1U);
  EXPECT_GE(lost(sealed.summary, Loss::unmatched_event), 1U);
  for (const uint32_t parent : sealed.recording.column(column<table::Operators>.parent)) EXPECT_EQ(parent, 0U);
}

// A spool with every kind of record, without its empty space.
std::string varied_spool(const TestFolder& folder) {
  SpoolBuilder b(folder, "original");
  const uint32_t stack = b.stack({b.frame("train.py", 3, "main"), b.frame("lib.py", 9, "call")});
  b.mapping("/bin/true", 0x1000, 0x9000, 0x1000).information("rank", "0").loss(Loss::truncated_text, 1);
  b.native_stack({0x1234, 0x5678, 0xffffffffffffffff, 0});
  for (uint64_t i = 1; i <= 12; ++i) {
    b.thread(1 + i % 3).enter("Net", "Net").alloc(i * 64, 64, i % 2 ? "cpu" : "cuda:0", stack);
    b.op("aten::mm", {i * 64, 64}, stack, i).accumulate_grad(i * 16, i * 64).node("MmBackward0", i, {{i * 16, 0}}, i);
    b.save(i, "self", i * 64, 64, b.layout("float32", 4, {4, 4}, {4, 1})).save(i, "other", 0x9990 + i, 32).end_op();
    b.leave().backward().evaluate(i).foreign(0x8880, 8).end_evaluation().end_backward().range("r").end_range();
    b.optimizer("SGD").end_optimizer().role(Role::gradient, "w", i * 64, 64, 64).node_release(i).node_dies(i);
    b.rewrite("wide-save", 1, i, "self", 64, 2).rewrite("late-gradient", 0, 0, "", 64, 0, "clipped", stack);
    b.checksum(ChecksumOf::gradient, "w", i, i * i, 10);
    if (i % 2 == 0) b.free(i * 64);
  }
  b.finish();
  return read_file(b.path());
}

TEST(UntrustedSpool, ThousandsOfMutationsNeverCrashTheSealer) {
  const TestFolder source, folder;
  const std::string original = varied_spool(source);
  std::mt19937_64 random(2026);
  int sealed = 0;
  // Blocks begin at multiples of kBlockBytes. Only nonzero bytes are damaged.
  std::vector<size_t> places;
  for (size_t i = 0; i < original.size(); ++i)
    if (original[i] != 0) places.push_back(i);
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = original;
    // Checksums would reject most damage, so most blocks are marked as unfinished.
    for (size_t at = kSpoolHeaderBytes; at + kBlockBytes <= bytes.size(); at += kBlockBytes)
      if (random() % 8 != 0) bytes[at + offsetof(BlockHeader, finished)] = 0;
    for (uint64_t changes = 1 + random() % 6; changes > 0; --changes) {
      const size_t at = places[random() % places.size()] + random() % 3;
      if (at < 8 || at >= bytes.size()) continue;  // another test covers the magic
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes[at] = random() % 2 ? '\xff' : '\0';
          break;
        default:
          for (size_t i = at / 8 * 8; i < at / 8 * 8 + 8 && i < bytes.size(); ++i)
            bytes[i] = static_cast<char>(random());
      }
    }
    if (random() % 10 == 0) bytes.resize(random() % bytes.size());
    write_file(folder / "1.spool", bytes);
    const auto summary = seal_quietly(folder);
    if (!summary || summary->processes.empty()) continue;
    ++sealed;
    read_everything(folder / "run.tapelens");
  }
  EXPECT_GT(sealed, 750) << "most of them hold something";
}

TEST(UntrustedSpool, CutAtAnyBlockOrInsideOneIsSealedAsFarAsItGoes) {
  const TestFolder source, folder;
  const std::string original = varied_spool(source);
  for (size_t bytes = 0; bytes < original.size(); bytes += 1777) {
    write_file(folder / "1.spool", original.substr(0, bytes));
    const auto summary = seal_quietly(folder);
    if (summary && !summary->processes.empty()) {
      EXPECT_GE(lost(*summary, Loss::torn_block), 1U) << "cut to " << bytes;
    }
  }
}

TEST(TickClock, DrawsStraightLinesFromAnchorToAnchor) {
  constexpr uint64_t kMs = 1'000'000;
  TickClock clock({{1000, 50}, {1000 + 3 * kMs, 50 + kMs}, {1000 + 9 * kMs, 50 + 4 * kMs}}, 50, {0, 0});
  EXPECT_EQ(clock.ns(1000), 0U);
  EXPECT_EQ(clock.ns(1000 + 3 * kMs / 2), kMs / 2);
  EXPECT_EQ(clock.ns(1000 + 6 * kMs), 5 * kMs / 2);
  EXPECT_EQ(clock.ns(1000 + 11 * kMs), 5 * kMs) << "the last line goes on";
  EXPECT_EQ(clock.ns(999), 0U) << "never below zero";
  EXPECT_EQ(clock.ns(1000 + 3 * kMs), kMs) << "back again";
}

TEST(TickClock, AnchorsThatContradictTheOthersAreLeftOut) {
  constexpr uint64_t kMs = 1'000'000;
  TickClock clock({{0, 0}, {5, UINT64_MAX}, {2 * kMs, kMs}, {3 * kMs, kMs / 2}, {4 * kMs, 2 * kMs}}, 0, {0, 0});
  EXPECT_EQ(clock.ns(2 * kMs), kMs);
  EXPECT_EQ(clock.ns(8 * kMs), 4 * kMs);
}

TEST(TickClock, AShortRecordingIsMeasuredByTheClockOfTheSealer) {
  TickClock clock({{0, 0}}, 0, {3'000'000'000, 1'000'000'000});
  EXPECT_EQ(clock.ns(300), 100U);
}

// A function of this program whose stack is read.
extern "C" __attribute__((noinline)) void* tapelens_test_here() { return __builtin_return_address(0); }

TEST(SealOfProcesses, NativeStacksAreNamedByTheSymbolsOfTheirFiles) {
  const TestFolder folder;
  SpoolBuilder b(folder, "1.spool");
  Dl_info program{}, libc{};
  void* here = tapelens_test_here();
  ASSERT_NE(dladdr(here, &program), 0);
  // Not &fopen, which a sanitizer may have replaced.
  void* loaded = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
  ASSERT_NE(loaded, nullptr);
  void* function = dlsym(loaded, "getppid");
  ASSERT_NE(dladdr(function, &libc), 0);
  const auto base = reinterpret_cast<uint64_t>(program.dli_fbase),
             libc_base = reinterpret_cast<uint64_t>(libc.dli_fbase);
  const auto in_libc = reinterpret_cast<uint64_t>(function) + 4;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  b.mapping(self, base, base + (64 << 20), base).mapping(libc.dli_fname, libc_base, libc_base + (2 << 20), libc_base);
  const uint32_t mixed = b.native_stack({in_libc, reinterpret_cast<uint64_t>(here)});
  const uint32_t only_libc = b.native_stack({in_libc});
  b.op("x", {}, mixed).op("y", {}, only_libc).finish();
  const Sealed sealed = seal_folder(folder);
  const Recording& r = sealed.recording;
  const auto depth = r.column(column<table::Stacks>.depth), frames = r.column(column<table::StackFrames>.frame);
  const auto functions = r.column(column<table::Frames>.function), lengths = r.column(column<table::Strings>.bytes);
  const auto bytes = r.column(column<table::StringBytes>.byte);
  const auto text = [&](uint32_t id) {
    size_t at = 1;
    for (uint32_t i = 1; i < id; ++i) at += lengths[i];
    return std::string(bytes.begin() + static_cast<ptrdiff_t>(at),
                       bytes.begin() + static_cast<ptrdiff_t>(at + lengths[id]));
  };
  const auto stacks = r.column(column<table::Operators>.stack);
  std::vector<size_t> first_frame{1};
  for (size_t i = 1; i < depth.size(); ++i) first_frame.push_back(first_frame.back() + depth[i]);
  const auto name_of_first = [&](uint32_t stack) { return text(functions[frames[first_frame[stack - 1]]]); };
  EXPECT_NE(name_of_first(stacks[1]).find("NativeStacksAreNamed"), std::string::npos) << name_of_first(stacks[1]);
  EXPECT_EQ(depth[stacks[2]], 1U) << "nothing but libc: its innermost frame is named";
  EXPECT_NE(name_of_first(stacks[2]).find("getppid"), std::string::npos) << name_of_first(stacks[2]);
}

}  // namespace
}  // namespace tapelens::trace
