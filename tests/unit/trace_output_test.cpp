// Output: a command does not destroy existing files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "testing/trace_builder.h"
#include "trace/output.h"

namespace tapelens::trace {
namespace {

namespace fs = std::filesystem;

const OutputKind kNotes = marked_kind("note", "\nWritten by a test\n");

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

mode_t mode_of(const std::string& path) { return static_cast<mode_t>(fs::status(path).permissions()); }

Status write(const OutputOptions& options, std::string_view text = "new") {
  auto output = Output::open(options);
  if (!output) return output.error();
  if (auto written = output->write(text); !written) return written;
  return output->finish();
}

class Outputs : public testing::Test {
 protected:
  OutputOptions to(const std::string& name) { return {.path = folder_ / name, .kind = kNotes}; }
  std::string in(const std::string& name) { return folder_ / name; }
  size_t files() { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), {})); }
  // Refused before and after the work, without any change.
  void expect_refused(const OutputOptions& options, const std::string& why, ErrorKind kind = ErrorKind::usage) {
    const size_t before = files();
    for (const Status& status : {Output::check(options), write(options)}) {
      ASSERT_FALSE(status) << options.path;
      EXPECT_EQ(status.error().kind, kind) << status.error().message;
      EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
      EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
    }
    EXPECT_EQ(files(), before);
  }
  TestFolder folder_;
};

TEST_F(Outputs, AFileIsThereWhenItIsWholeAndNothingElseIs) {
  {
    auto output = Output::open(to("a"));
    ASSERT_TRUE(output);
    EXPECT_TRUE(output->is_file());
    EXPECT_TRUE(output->write("half"));
    EXPECT_FALSE(fs::exists(in("a")));
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_TRUE(write(to("a")));
  EXPECT_EQ(content(in("a")), "new\nWritten by a test\n");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Outputs, ItsOwnIsReplacedAndAUsersIsNot) {
  EXPECT_TRUE(write(to("a")));
  EXPECT_TRUE(write(to("a"), "newer"));
  EXPECT_EQ(content(in("a")), "newer\nWritten by a test\n");
  std::ofstream(in("a"), std::ios::app) << "and mine\n";
  expect_refused(to("a"),
                 "exists, and is not a Tapelens note: choose another file with -o, or replace it with --force");
  OutputOptions forced = to("a");
  forced.is_forced = true;
  EXPECT_TRUE(write(forced));
  EXPECT_EQ(content(in("a")), "new\nWritten by a test\n");
}

TEST_F(Outputs, ANewFileReplacesNoneThatAppearsMeanwhile) {
  OutputOptions options = to("a");
  options.is_new = true;
  EXPECT_TRUE(write(options));
  const Status again = write(options, "newer");
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("File exists"), std::string::npos) << again.error().message;
  EXPECT_EQ(content(in("a")), "new\nWritten by a test\n");
  options.path = in("b");
  auto output = Output::open(options);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->write("late"));
  EXPECT_TRUE(write(to("b")));
  EXPECT_FALSE(output->finish());
  EXPECT_EQ(content(in("b")), "new\nWritten by a test\n");
  EXPECT_EQ(files(), 2u);
}

TEST_F(Outputs, AnEmptyFileIsReplacedAndStaysOneWhereNothingIsWritten) {
  put(in("a"), "");
  EXPECT_TRUE(write(to("a"), ""));
  EXPECT_EQ(content(in("a")), "");
  EXPECT_TRUE(write(to("a")));
}

TEST_F(Outputs, AKindIsToldByBeginEndAndContent) {
  put(in("a"), "begin middle end");
  EXPECT_TRUE(is_of_kind(in("a"), {.begins = "begin", .ends = "end"}));
  EXPECT_FALSE(is_of_kind(in("a"), {.begins = "begin", .ends = "enD"}));
  EXPECT_FALSE(is_of_kind(in("a"), {.begins = "begin middle e", .ends = "middle end"})) << "they overlap";
  EXPECT_FALSE(is_of_kind(in("a"), {}));
  const auto is_middle = [](std::string_view text) { return text.find("middle") != std::string_view::npos; };
  EXPECT_TRUE(is_of_kind(in("a"), {.is_ours = is_middle}));
  EXPECT_FALSE(is_of_kind(in("a"), {.is_ours = is_middle, .looks_at = 5}));
  EXPECT_FALSE(is_of_kind(in("none"), {.begins = "begin"}));
}

TEST_F(Outputs, ARecordingIsToldByItsHeaderNotByItsFirstLetters) {
  SpoolBuilder(folder_, "1.spool").op("x").end_op().finish();
  seal_folder(folder_);
  EXPECT_TRUE(is_of_kind(in("run.tapelens"), recording_kind()));
  put(in("notes"), "TAPELENS is what I looked at today, and this is what I think of it\n");
  EXPECT_FALSE(is_of_kind(in("notes"), recording_kind()));
  EXPECT_FALSE(is_of_kind(in("1.spool"), recording_kind()));
}

TEST_F(Outputs, AnInputIsNeverWrittenByAnyNameOrWithForce) {
  put(in("input"), "precious\nWritten by a test\n");
  fs::create_hard_link(in("input"), in("hard"));
  fs::create_symlink("input", in("soft"));
  fs::create_symlink("soft", in("softer"));
  for (const char* name : {"input", "hard", "soft", "softer", "./softer"}) {
    for (const char* read : {"input", "hard", "soft"}) {
      OutputOptions options = to(name);
      options.is_forced = true;
      options.inputs = {in("missing"), in(read)};
      expect_refused(options, "is an input of this command: choose another file with -o");
    }
  }
  EXPECT_EQ(content(in("input")), "precious\nWritten by a test\n");
}

TEST_F(Outputs, ALinkIsFollowed) {
  fs::create_directory(in("d"));
  fs::create_symlink("d/real", in("link"));
  fs::create_symlink("link", in("other"));
  EXPECT_TRUE(write(to("other"))) << "the file at the end of the link does not exist yet";
  EXPECT_TRUE(write(to("link"), "newer"));
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(content(in("d/real")), "newer\nWritten by a test\n");
  put(in("mine"), "mine");
  fs::create_symlink("mine", in("to mine"));
  expect_refused(to("to mine"), "exists, and is not a Tapelens note");
  fs::create_symlink("circle", in("circle"));
  expect_refused(to("circle"), "symbolic links", ErrorKind::unreadable);
}

TEST_F(Outputs, ALinkOfAnotherUserInASharedFolderIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_directory(in("shared"));
  fs::permissions(in("shared"), fs::perms::all | fs::perms::sticky_bit);
  ASSERT_EQ(chown(in("shared").c_str(), 1234, 1234), 0);
  fs::create_symlink(in("victim"), in("shared/link"));
  ASSERT_EQ(lchown(in("shared/link").c_str(), 4321, 4321), 0);
  expect_refused(to("shared/link"), "is another user's link");
  EXPECT_FALSE(fs::exists(in("victim")));
}

TEST_F(Outputs, AFolderADeviceAndASocketAreNotReplaced) {
  fs::create_directory(in("d"));
  expect_refused(to("d"), "is a folder");
  expect_refused(to("d/"), "is a folder");
  expect_refused(to("new/"), "is a folder");
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(mknod(in("block").c_str(), S_IFBLK | 0600, makedev(7, 200)), 0);
  ASSERT_EQ(mknod(in("random").c_str(), S_IFCHR | 0600, makedev(1, 8)), 0);
  for (const char* name : {"block", "random"}) {
    OutputOptions options = to(name);
    options.is_forced = true;
    expect_refused(options, "is a device");
  }
  EXPECT_EQ(fs::status(in("block")).type(), fs::file_type::block);
}

TEST_F(Outputs, ADeviceThatKeepsNothingIsWrittenAndStays) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(mknod(in("null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  ASSERT_EQ(mknod(in("full").c_str(), S_IFCHR | 0666, makedev(1, 7)), 0);
  fs::create_symlink("null", in("link"));
  for (const bool needs_file : {false, true}) {
    for (const char* name : {"null", "link"}) {
      OutputOptions options = to(name);
      options.needs_file = needs_file;
      EXPECT_TRUE(write(options)) << name;
    }
    OutputOptions full = to("full");
    full.needs_file = needs_file;
    const Status status = write(full);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("free some space"), std::string::npos) << status.error().message;
  }
  EXPECT_EQ(fs::status(in("null")).type(), fs::file_type::character);
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(files(), 3u);
  OutputOptions file_only = to("null");
  file_only.takes_streams = false;
  expect_refused(file_only, "note needs a regular file");
}

TEST_F(Outputs, AFifoGetsTheBytesAndStaysOne) {
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  for (const bool needs_file : {false, true}) {
    OutputOptions options = to("fifo");
    options.needs_file = needs_file;
    EXPECT_TRUE(Output::check(options)) << "waits for no reader";
    std::string read;
    std::thread reader([&] { read = content(in("fifo")); });
    EXPECT_TRUE(write(options, "bytes"));
    reader.join();
    EXPECT_EQ(read, "bytes") << "a stream has no mark";
  }
  EXPECT_EQ(fs::status(in("fifo")).type(), fs::file_type::fifo);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Outputs, AFifoWithoutAReaderIsSaidWhereTheBytesAreNowhereElse) {
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  OutputOptions options = to("fifo");
  options.needs_file = options.needs_reader = true;
  const Status status = write(options);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("is a FIFO without a reader"), std::string::npos) << status.error().message;
  EXPECT_EQ(files(), 1u);
}

// The output begins at the descriptor's position, and the earlier content of its file stays.
TEST_F(Outputs, ADescriptorIsWrittenAndItsFileNotReplaced) {
  put(in("log"), "before\n");
  const int file = open(in("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  struct stat then {
  }, now{};
  ASSERT_EQ(fstat(file, &then), 0);
  fs::create_symlink("/dev/fd/" + std::to_string(file), in("link"));
  for (const std::string& name : {"/dev/fd/" + std::to_string(file), "/proc/self/fd/" + std::to_string(file),
                                  "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file), in("link")}) {
    EXPECT_EQ(descriptor_of(name), file) << name;
    EXPECT_TRUE(write({.path = name, .kind = kNotes}, "text\n")) << name;
  }
  EXPECT_EQ(content(in("log")), "before\ntext\ntext\ntext\ntext\n");
  ASSERT_EQ(stat(in("log").c_str(), &now), 0);
  EXPECT_EQ(now.st_ino, then.st_ino);
  OutputOptions to_input = {.path = "/dev/fd/" + std::to_string(file), .kind = kNotes, .inputs = {in("log")}};
  expect_refused(to_input, "is an input of this command");
  close(file);
  expect_refused(to_input, "cannot be written", ErrorKind::unreadable);
  const int only_read = open(in("log").c_str(), O_RDONLY | O_CLOEXEC);
  expect_refused({.path = "/dev/fd/" + std::to_string(only_read)}, "cannot be written", ErrorKind::unreadable);
  close(only_read);
  EXPECT_EQ(descriptor_of("-"), STDOUT_FILENO);
  EXPECT_EQ(descriptor_of(in("log")), -1);
}

TEST_F(Outputs, AWriteProtectedFileIsReplacedByForceAlone) {
  EXPECT_TRUE(write(to("a")));
  fs::permissions(in("a"), fs::perms::owner_read | fs::perms::group_read);
  expect_refused(to("a"), "is write-protected");
  OutputOptions forced = to("a");
  forced.is_forced = true;
  EXPECT_TRUE(write(forced, "newer"));
  EXPECT_EQ(mode_of(in("a")), 0440U);
}

TEST_F(Outputs, ANewFileHasTheModeThatIsAskedForAndAnOldOneKeepsItsOwn) {
  OutputOptions options = to("a");
  options.mode = 0600;
  EXPECT_TRUE(write(options));
  EXPECT_EQ(mode_of(in("a")), 0600U);
  fs::permissions(in("a"), static_cast<fs::perms>(0664));
  EXPECT_TRUE(write(options));
  EXPECT_EQ(mode_of(in("a")), 0664U);
  options.sets_mode = true;
  EXPECT_TRUE(write(options));
  EXPECT_EQ(mode_of(in("a")), 0600U);
  const mode_t mask = umask(027);
  EXPECT_TRUE(write(to("b")));
  umask(mask);
  EXPECT_EQ(mode_of(in("b")), 0640U);
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(in("a").c_str(), 1234, 4321), 0);
  EXPECT_TRUE(write(options));
  struct stat facts {};
  ASSERT_EQ(stat(in("a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 1234U);
  EXPECT_EQ(facts.st_gid, 4321U);
}

TEST_F(Outputs, WhatIsMadeOfFilesHasTheModeThatAllOfThemAllow) {
  put(in("a"), "");
  put(in("b"), "");
  fs::permissions(in("a"), static_cast<fs::perms>(0755));
  fs::permissions(in("b"), static_cast<fs::perms>(0440));
  EXPECT_EQ(mode_of_made({in("a")}), 0644U);
  EXPECT_EQ(mode_of_made({in("a"), in("b")}), 0640U) << "its owner can write it";
  EXPECT_EQ(mode_of_made({in("a"), in("none")}), 0600U);
  EXPECT_EQ(mode_of_made({}), 0600U);
}

TEST_F(Outputs, AFullDiskLeavesTheOlderFile) {
  const std::string text(1 << 20, 'x');
  const auto fill_up = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = write(to("a"), text);
    _exit(!status && status.error().message.find("free some space") != std::string::npos ? 0 : 1);
  };
  EXPECT_TRUE(write(to("a"), "old"));
  EXPECT_EXIT(fill_up(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(content(in("a")), "old\nWritten by a test\n");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Outputs, AFolderThatCannotBeWrittenIsSaidBeforeTheWork) {
  expect_refused(to("none/a"), "No such file or directory: choose another place with -o", ErrorKind::unreadable);
  put(in("file"), "");
  expect_refused(to("file/a"), "Not a directory", ErrorKind::unreadable);
  fs::create_directory(in("closed"));
  fs::permissions(in("closed"), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_all);
  if (geteuid() == 0) fs::permissions(in("closed"), fs::perms::owner_all);
  const auto as_user = [&] {
    if (geteuid() == 0 && (chmod(folder_.path().c_str(), 0755) != 0 || setuid(1234) != 0)) _exit(2);
    const Status status = Output::check(to("closed/a"));
    _exit(!status && status.error().message.find("Permission denied") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(as_user(), testing::ExitedWithCode(0), "");
}

// The program may write its own file to that path while it is recorded.
TEST_F(Outputs, WhatIsThereWhenItIsFinishedIsAskedAgain) {
  {
    auto output = Output::open(to("a"));
    ASSERT_TRUE(output && output->write("new"));
    put(in("a"), "mine");
    const Status status = output->finish();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(content(in("a")), "mine");
  EXPECT_EQ(files(), 1u);
  auto output = Output::open(to("b"));
  ASSERT_TRUE(output && output->write("new"));
  fs::create_directory(in("b"));
  EXPECT_FALSE(output->finish());
  EXPECT_EQ(files(), 2u);
}

TEST_F(Outputs, AWriterMayPutAnotherFileInThePlaceOfTheUnfinishedOne) {
  OutputOptions options = to("a");
  options.mode = 0640;
  std::vector<std::string> said;
  options.unfinished = [&](const std::string& path) { said.push_back(path); };
  auto output = Output::open(options);
  ASSERT_TRUE(output);
  put(in("other"), "other");
  fs::rename(in("other"), output->unfinished_path());
  EXPECT_TRUE(output->finish());
  EXPECT_EQ(content(in("a")), "other\nWritten by a test\n");
  EXPECT_EQ(mode_of(in("a")), 0640U);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(said[0].starts_with(in("a") + ".")) << said[0];
  EXPECT_EQ(said[1], "");
}

TEST_F(Outputs, TheLongestNameThatAFileMayHaveIsWritten) {
  const std::string name(255, 'n');
  EXPECT_TRUE(write(to(name)));
  EXPECT_TRUE(fs::exists(in(name)));
}

TEST_F(Outputs, AReaderThatWentAwayIsAnErrorWhereTheBytesAreNowhereElse) {
  const auto to_nobody = [&](bool needs_reader) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    OutputOptions options = {.path = "/dev/fd/" + std::to_string(ends[1])};
    options.needs_reader = needs_reader;
    const bool is_fine = static_cast<bool>(write(options));
    close(ends[1]);
    signal(SIGPIPE, SIG_DFL);
    return is_fine;
  };
  EXPECT_TRUE(to_nobody(false));
  EXPECT_FALSE(to_nobody(true));
}

TEST_F(Outputs, TwoNamesOfAFileAreOne) {
  put(in("a"), "");
  fs::create_symlink("a", in("b"));
  EXPECT_TRUE(is_same_file(in("a"), in("b")));
  EXPECT_TRUE(is_same_file(in("new"), in("./new")));
  EXPECT_FALSE(is_same_file(in("a"), in("new")));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null")) << "it keeps nothing";
}

}  // namespace
}  // namespace tapelens::trace
