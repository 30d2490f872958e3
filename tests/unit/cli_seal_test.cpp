// From a spool to a file: the closing line of `record`, the fate of the spools, and `tapelens seal`.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens";

class Sealing : public testing::Test {
 protected:
  // Records the program that writes a spool like a probe.
  Outcome record(const Words& options, const Words& arguments = {}) {
    Words words = {kTapelens, "record"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", TAPELENS_TEST_WRITER});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return here(words);
  }
  Outcome here(const Words& words) {
    Setting setting;
    setting.folder = folder_.path();
    return run(words, setting);
  }
  TemporaryFolder folder_;
};

TEST_F(Sealing, TheClosingLineSaysThePeakTheFileAndTheNextCommand) {
  const Outcome outcome = record({});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("tapelens: peak 3.0 MiB on cpu, ")) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("Next: tapelens report run.tapelens\n")) << outcome.err;
  EXPECT_EQ(outcome.err.find("not complete"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::exists(folder_ / "run.tapelens"));
}

TEST_F(Sealing, TheSpoolsAreRemovedOnceSealed) {
  record({"-o", "a.tapelens"});
  EXPECT_FALSE(fs::exists(folder_ / "a.tapelens.spool"));
}

TEST_F(Sealing, QuietSealsWithoutAWord) {
  EXPECT_EQ(record({"--quiet"}).err, "");
  EXPECT_TRUE(fs::exists(folder_ / "run.tapelens"));
}

TEST_F(Sealing, KeptSpoolsCanBeSealedAgain) {
  record({"--keep-spool"});
  const Outcome again = here({kTapelens, "seal", "--remove", "run.tapelens.spool", "-o", "again.tapelens"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(fs::exists(folder_ / "again.tapelens"));
  EXPECT_FALSE(fs::exists(folder_ / "run.tapelens.spool"));
}

TEST_F(Sealing, AKilledProgramIsSealedAndSaidToBeCutOff) {
  const Outcome outcome = record({}, {"--die"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_TRUE(outcome.err.starts_with("tapelens: peak 3.0 MiB on cpu, ")) << outcome.err;
  EXPECT_NE(outcome.err.find("not complete: 1 process was killed or crashed (recorded up to there)"), std::string::npos)
      << outcome.err;
}

TEST_F(Sealing, StrictSealOfACutOffSpoolIsExitCode4) {
  record({"--keep-spool"}, {"--die"});
  EXPECT_EQ(here({kTapelens, "seal", "--strict", "run.tapelens.spool", "-o", "a.tapelens"}).exit_code, 4);
  EXPECT_EQ(here({kTapelens, "seal", "run.tapelens.spool", "-o", "a.tapelens"}).exit_code, 0);
}

TEST_F(Sealing, AnUnsealedRecordingIsNotOverwrittenUnlessForced) {
  record({"--keep-spool"});
  const Outcome refused = record({});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("never sealed"), std::string::npos) << refused.err;
  EXPECT_EQ(record({"--force"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "run.tapelens.spool"));
}

TEST_F(Sealing, AnOlderRecordingStaysWhenTheCommandRecordsNothing) {
  record({});
  const std::string before = read_file(folder_ / "run.tapelens");
  const Outcome outcome = here({kTapelens, "record", "--", "true"});
  EXPECT_EQ(read_file(folder_ / "run.tapelens"), before);
  EXPECT_NE(outcome.err.find("earlier recording"), std::string::npos) << outcome.err;
}

TEST_F(Sealing, AProcessThatOutlivesTheCommandIsNotedAndItsSpoolKept) {
  const Outcome outcome = record({}, {"--linger", "go"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("1 process still runs (pid "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("crashed"), std::string::npos) << outcome.err;
  ASSERT_TRUE(fs::exists(folder_ / "run.tapelens.spool"));
  const pid_t process = std::stoi(outcome.err.substr(outcome.err.find("(pid ") + 5));
  write_file(folder_ / "go", "");
  ASSERT_TRUE(eventually([&] { return kill(process, 0) != 0; }));
  EXPECT_EQ(here({kTapelens, "seal", "run.tapelens.spool", "-o", "run.tapelens", "--remove"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "run.tapelens.spool"));
}

TEST_F(Sealing, AFolderWithoutSpoolsIsUnreadableInput) {
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(here({kTapelens, "seal", "empty", "-o", "a.tapelens"}).exit_code, 3);
  EXPECT_EQ(here({kTapelens, "seal", "nowhere", "-o", "a.tapelens"}).exit_code, 3);
  EXPECT_FALSE(fs::exists(folder_ / "a.tapelens"));
}

TEST_F(Sealing, RubbishInPlaceOfASpoolIsUnreadableInput) {
  fs::create_directory(folder_ / "bad.spool");
  write_file(folder_ / "bad.spool/1.spool", std::string(100000, 'x'));
  const Outcome outcome = here({kTapelens, "seal", "bad.spool", "-o", "a.tapelens"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "a.tapelens"));
}

TEST_F(Sealing, TheFolderOfSpoolsIsItsOwnersAlone) {
  record({"--keep-spool"});
  EXPECT_EQ(fs::status(folder_ / "run.tapelens.spool").permissions(), fs::perms::owner_all);
}

TEST_F(Sealing, AFolderThatOthersCanWriteIntoIsNotUsed) {
  const fs::path spools = folder_ / "run.tapelens.spool";
  fs::create_directory(spools);
  fs::permissions(spools, fs::perms::all);
  const Outcome open_to_all = record({});
  EXPECT_EQ(open_to_all.exit_code, 98) << "the program runs, and is not told to record";
  EXPECT_NE(open_to_all.err.find("other users can write into it; running the command unrecorded"), std::string::npos)
      << open_to_all.err;
  fs::remove(spools);
  fs::create_directory(folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", spools);
  EXPECT_NE(record({}).err.find("it is not a folder; running the command unrecorded"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
  fs::remove(spools);
  if (geteuid() != 0) return;
  fs::create_directory(spools);
  ASSERT_EQ(chown(spools.c_str(), 12345, 12345), 0);
  EXPECT_NE(record({}).err.find("it is another user's; running the command unrecorded"), std::string::npos);
}

TEST_F(Sealing, SpoolsCanBePutElsewhere) {
  fs::create_directory(folder_ / "fast disk");
  record({"--keep-spool", "--spool", "fast disk"});
  EXPECT_TRUE(fs::exists(folder_ / "run.tapelens"));
  EXPECT_FALSE(fs::exists(folder_ / "run.tapelens.spool"));
  EXPECT_TRUE(fs::exists(folder_ / "fast disk/run.tapelens.spool"));
  const Outcome nowhere = record({"--spool", "no such folder"});
  EXPECT_NE(nowhere.err.find("No such file or directory; running the command unrecorded"), std::string::npos)
      << nowhere.err;
}

TEST_F(Sealing, ARecordingIsItsOwnersAloneUnlessAModeIsGiven) {
  const auto mode = [&] { return static_cast<unsigned>(fs::status(folder_ / "run.tapelens").permissions()); };
  record({"--keep-spool"});
  EXPECT_EQ(mode(), 0600U);
  here({kTapelens, "seal", "run.tapelens.spool", "-o", "run.tapelens", "--mode", "644", "--remove"});
  EXPECT_EQ(mode(), 0644U);
  record({"--mode", "0640"});
  EXPECT_EQ(mode(), 0640U);
  EXPECT_EQ(record({"--mode", "rw"}).exit_code, 2);
  EXPECT_EQ(record({"--mode", "0040"}).exit_code, 2);
}

TEST_F(Sealing, ARedactedRecordingDoesNotSayTheArgumentsOfTheCommand) {
  const auto said = [&] { return here({kTapelens, "report", "run.tapelens", "--format", "json"}).out; };
  record({}, {"--token=hunter2"});
  EXPECT_NE(said().find("hunter2"), std::string::npos);
  record({"--redact"}, {"--token=hunter2"});
  EXPECT_EQ(said().find("hunter2"), std::string::npos);
  EXPECT_NE(said().find("[arguments left out]"), std::string::npos);
  EXPECT_EQ(read_file(folder_ / "run.tapelens").find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace tapelens::test
