// Sealed files: a file that opens is readable, and a file with one changed bit does not open.
#include <sys/mman.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "testing/trace_builder.h"
#include "trace/checksum.h"
#include "trace/sealed_format.h"
#include "trace/sealed_writer.h"

namespace tapelens::trace {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A small recording with rows in every table.
std::string small_sealed_file() {
  SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("train.py", 3, "main")});
  b.information("torch_version", "2.15.0").enter("Net", "Net").alloc(0x10, 64, "cpu", stack).accumulate_grad(0xa, 0x10);
  b.op("aten::mm", {0x10}, stack, 1).node("MmBackward0", 0xb, {{0xa, 0}}, 1);
  b.save(0xb, "self", 0x10, 64, b.layout("float32", 4, {4, 4}, {4, 1})).end_op().leave();
  b.backward().evaluate(0xb).end_evaluation().end_backward().range("r").end_range().optimizer("SGD").end_optimizer();
  b.role(Role::parameter, "weight", 0x10, 64).free(0x10).loss(Loss::truncated_text, 1);
  const Recording recording = b.seal();
  return read_file(b.folder() / "run.tapelens");
}

// A file in memory, fast to damage.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(memfd_create("damaged.tapelens", MFD_CLOEXEC)) {
    EXPECT_EQ(write(file_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }

  void put(size_t at, char byte) { EXPECT_EQ(pwrite(file_, &byte, 1, static_cast<off_t>(at)), 1); }
  void cut(size_t bytes) { EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0); }
  // The error of opening, without the path; empty if the file opens.
  std::string error() const {
    const std::string path = "/proc/self/fd/" + std::to_string(file_);
    auto recording = Recording::open(path);
    if (recording) return {};
    EXPECT_TRUE(recording.error().message.starts_with(path + ": ")) << recording.error().message;
    return recording.error().message.substr(path.size());
  }

 private:
  int file_;
};

std::string error_of(std::string_view bytes) { return MemoryFile(bytes).error(); }

TEST(SealedFile, CutAtAnyByteDoesNotOpen) {
  const std::string whole = small_sealed_file();
  MemoryFile file(whole);
  ASSERT_EQ(file.error(), "");
  for (size_t bytes = whole.size(); bytes-- > 0;) {
    file.cut(bytes);
    ASSERT_NE(file.error(), "") << "cut to " << bytes << " bytes";
  }
}

TEST(SealedFile, WithAnyByteFlippedDoesNotOpen) {
  const std::string bytes = small_sealed_file();
  MemoryFile file(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      file.put(i, static_cast<char>(bytes[i] ^ mask));
      ASSERT_NE(file.error(), "") << "byte " << i << " changed by " << mask;
    }
    file.put(i, bytes[i]);
  }
  EXPECT_EQ(file.error(), "") << "all is as it was";
}

TEST(SealedFile, WithBytesAddedDoesNotOpen) {
  const std::string whole = small_sealed_file();
  EXPECT_NE(error_of(whole + '\0'), "");
  EXPECT_NE(error_of(whole + whole), "");
  EXPECT_NE(error_of('\0' + whole), "");
}

TEST(SealedFile, ErrorsSayWhatIsWrongAndWhatToDo) {
  const TestFolder folder;
  const std::string whole = small_sealed_file();
  EXPECT_EQ(error_of("hello, this is not a recording at all, but some text of more than 32 bytes"),
            ": offset 0: not a Tapelens recording, or its beginning is damaged: give the path of a .tapelens file");
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 1)),
            ": offset " + std::to_string(whole.size() - 1) +
                ": the file is cut off or its end is damaged: the file is damaged: copy it again, or record again");
  auto missing = Recording::open(folder / "missing.tapelens");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
  auto is_folder = Recording::open(folder.path());
  ASSERT_FALSE(is_folder);
  EXPECT_NE(is_folder.error().message.find("Is a directory"), std::string::npos);
}

TEST(SealedFile, ThatNeedsANewerReaderIsRefusedByVersion) {
  std::string bytes = small_sealed_file();
  SealedHeader header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.version = 9;  // the version alone does not cause an error
  header.checksum = checksum_of(&header, offsetof(SealedHeader, checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  EXPECT_EQ(error_of(bytes), "");
  header.needs_reader = 3;
  header.checksum = checksum_of(&header, offsetof(SealedHeader, checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  EXPECT_EQ(error_of(bytes), ": offset 12: needs a reader of format version 3, this one is 2: use a newer tapelens");
}

TEST(SealedFile, ColumnsAndTablesThatAreNotKnownAreSkippedAndAbsentOnesAreZero) {
  const TestFolder folder;
  {
    SealedWriter writer;
    ASSERT_TRUE(writer.open(folder / "new.tapelens"));
    const uint64_t begins[] = {10, 20, 30};
    const uint32_t of_the_future[] = {7, 7, 7};
    const uint8_t one = 1;
    writer.write_chunk(column<table::Operators>.begin, 0, begins, 3);
    writer.write_chunk(Column<uint32_t>(Table::operators, 99, Transform::plain, "future"), 0, of_the_future, 3);
    writer.write_chunk(Column<uint8_t>(Table{200}, 0, Transform::plain, "future"), 0, &one, 1);
    ASSERT_TRUE(writer.finish("", 5, 6, {ProcessSummary{1, 2, 3, true, 4, 7}}));
  }
  auto r = Recording::open(folder / "new.tapelens");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->column(column<table::Operators>.begin), (std::vector<uint64_t>{0, 10, 20, 30}));
  EXPECT_EQ(r->column(column<table::Operators>.name), (std::vector<uint32_t>{0, 0, 0, 0}));
  EXPECT_EQ(r->column(column<table::Saves>.node), (std::vector<uint32_t>{0}));
  EXPECT_EQ(r->duration().ns, 5);
  EXPECT_EQ(r->events(), 6U);
  EXPECT_EQ(r->processes()[0].pid, 1U);
  EXPECT_EQ(r->processes()[0].parent_pid, 2U);
  EXPECT_EQ(r->processes()[0].rank, 3);
  EXPECT_TRUE(r->processes()[0].finished);
  EXPECT_EQ(r->processes()[0].wall_ns, 4U);
  EXPECT_EQ(r->processes()[0].exit_code, 7);
}

TEST(SealedFile, ColumnsOfUnequalLengthAreABugThatIsTold) {
  const TestFolder folder;
  SealedWriter writer;
  ASSERT_TRUE(writer.open(folder / "run.tapelens"));
  const uint32_t values[2] = {1, 2};
  writer.write_chunk(column<table::Frees>.of, 0, values, 2);
  writer.write_chunk(column<table::OperatorEnds>.of, 0, values, 1);
  writer.write_chunk(column<table::Frees>.time, 0, std::vector<uint64_t>{1}.data(), 1);
  const Status status = writer.finish("", 0, 0, {ProcessSummary{}});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("different lengths"), std::string::npos);
}

TEST(SealedFile, IsNotThereUntilItIsWholeAndLeavesNothingBehindWhenItFails) {
  const TestFolder folder;
  {
    SealedWriter writer;
    ASSERT_TRUE(writer.open(folder / "run.tapelens"));
    EXPECT_FALSE(std::filesystem::exists(folder / "run.tapelens"));
    EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  SealedWriter writer;
  const Status status = writer.open(folder / "no/such/folder/run.tapelens");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("choose another place with -o"), std::string::npos);
}

TEST(SealedFile, OnAFullDiskIsAnError) {
  const TestFolder folder;
  const auto fill_up = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {1 << 10, 1 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    SealedWriter writer;
    if (!writer.open(folder / "run.tapelens")) _exit(1);
    std::vector<uint64_t> values(kChunkRows);
    for (size_t i = 0; i < values.size(); ++i) values[i] = i * i * 0x9e3779b97f4a7c15ULL;
    for (int i = 0; i < 8; ++i) writer.write_chunk(column<table::Operators>.begin, 0, values.data(), values.size());
    const Status status = writer.finish("", 0, 0, {ProcessSummary{}});
    if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
    _exit(status ? 2 : 0);
  };
  EXPECT_EXIT(fill_up(), testing::ExitedWithCode(0), "File too large: free some space");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// The writer flushes its buffer before it makes the summary, and again at the end.
TEST(SealedFile, OnAFullDiskIsAnErrorOfASmallFileWithASummaryToo) {
  const TestFolder folder;
  const auto fill_up = [&] {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit was;
    getrlimit(RLIMIT_FSIZE, &was);
    const struct rlimit limit = {0, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    SealedWriter writer;
    if (!writer.open(folder / "run.tapelens")) _exit(1);
    const Status status =
        writer.finish("", 0, 0, {ProcessSummary{}}, [](const std::string&) { return std::string("{}"); });
    setrlimit(RLIMIT_FSIZE, &was);  // standard error is a file, too
    if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
    _exit(status ? 2 : 0);
  };
  EXPECT_EXIT(fill_up(), testing::ExitedWithCode(0), "File too large: free some space");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SealedFile, IsItsOwnersAloneUnlessAModeIsGiven) {
  const TestFolder folder;
  SpoolBuilder(folder, "1.spool").op("x").end_op().finish();
  const auto mode_of = [&](uint32_t mode) {
    SealOptions options;
    options.directory = folder.path();
    options.output = folder / "run.tapelens";
    options.mode = mode;
    EXPECT_TRUE(seal(options));
    return static_cast<uint32_t>(std::filesystem::status(options.output).permissions());
  };
  EXPECT_EQ(mode_of(SealOptions().mode), 0600U);
  EXPECT_EQ(mode_of(0664), 0664U);
}

TEST(SealedFile, FollowsNoLinkThatSomebodyPut) {
  const TestFolder folder;
  SpoolBuilder(folder, "1.spool").op("x").end_op().finish();
  std::ofstream(folder / "victim") << "precious";
  std::filesystem::create_symlink(folder / "victim", folder / "run.tapelens.part");
  std::filesystem::create_symlink(folder / "victim", folder / "run.tapelens");
  seal_folder(folder);
  std::ifstream victim(folder / "victim");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(victim), {}), "precious");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(folder / "run.tapelens")));
}

TEST(SealedFile, KeepsTheCommandAndDurationThatItIsGiven) {
  SpoolBuilder b;
  b.op("x").at(700).end_op();
  const auto sealed = b.seal_all();
  EXPECT_EQ(sealed.recording.command(), "python train.py");
  EXPECT_EQ(sealed.recording.duration().ns, 700) << "the last event, when none is given";
  EXPECT_EQ(sealed.recording.file_bytes(), sealed.summary.file_bytes);
  EXPECT_EQ(sealed.recording.file_bytes(), std::filesystem::file_size(b.folder() / "run.tapelens"));
}

}  // namespace
}  // namespace tapelens::trace
