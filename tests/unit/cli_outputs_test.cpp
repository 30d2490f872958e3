// Every command that writes a file: replaced files, refused paths, streams, and the mode of new files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens";
const std::string kLetter = "a letter to a friend\n";

// A command, its output option, and a file name that is not the option's default.
struct Case {
  Words command;
  std::string option = "-o";
  bool is_stream = true;      // can go to standard output
  bool is_text_of_it = true;  // standard output is the same without the option
  std::vector<std::string> inputs = {"run.tapelens"};
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* format : {"text", "json", "markdown", "html"}) {
    cases.push_back({{"report", "run.tapelens", "--format", format}});
  }
  for (const char* format : {"text", "json", "markdown", "sarif"}) {
    cases.push_back({{"advise", "run.tapelens", "--format", format}});
  }
  for (const char* format : {"text", "json", "markdown", "html"}) {
    cases.push_back({{"diff", "run.tapelens", "other.tapelens", "--format", format},
                     "-o",
                     true,
                     true,
                     {"run.tapelens", "other.tapelens"}});
  }
  for (const char* format : {"text", "json", "markdown"}) {
    cases.push_back({{"ranks", "run.tapelens", "--format", format}});
  }
  for (const char* format : {"text", "json", "markdown", "sarif", "junit", "github"}) {
    cases.push_back({{"check", "run.tapelens", "--budget", "peak<=1MiB", "--format", format}});
    if (std::string(format) == "github") continue;  // the format has no output for limits that hold
    cases.push_back({{"check", "run.tapelens", "--baseline", "memory.json", "--format", format},
                     "-o",
                     true,
                     true,
                     {"run.tapelens", "memory.json"}});
  }
  for (const char* format : {"perfetto", "snapshot", "speedscope"}) {
    cases.push_back({{"export", "run.tapelens", "--format", format}, "-o", true, false});
  }
  cases.push_back({{"export", "run.tapelens", "--format", "sqlite"}, "-o", false, false});
  cases.push_back({{"check", "run.tapelens"}, "--write-baseline", true, false});
  cases.push_back({{"advise", "run.tapelens", "-o", "advice.txt"}, "--write-plan", true, false});
  cases.push_back({{"advise", "run.tapelens", "-o", "advice.txt"}, "--patch", true, false});
  cases.push_back({{"seal", "left.spool"}, "-o", true, false, {}});
  cases.push_back({{"import", "snapshot.pickle"}, "-o", true, false, {"snapshot.pickle"}});
  return cases;
}

std::string name_of(const Case& one) {
  std::string name;
  for (const std::string& word : one.command) name += word + " ";
  return name + one.option;
}

class Outputs : public testing::Test {
 protected:
  void SetUp() override {
    here({"record", "--quiet", "--", TAPELENS_TEST_WRITER});
    here({"record", "--quiet", "-o", "other.tapelens", "--", TAPELENS_TEST_WRITER});
    here({"record", "--quiet", "--keep-spool", "-o", "left", "--", TAPELENS_TEST_WRITER});
    fs::remove(folder_ / "left");
    here({"check", "run.tapelens", "--write-baseline", "memory.json"});
    write_snapshot();
  }
  void write_snapshot() {
    using namespace std::string_literals;
    write_file(folder_ / "snapshot.pickle", "\x80\x04}(\x8c\x08segments]\x8c\x0d"s + "device_traces](](}(\x8c\x06" +
                                                "action\x8c\x05" + "alloc\x8c\x04" + "addrM\x00\x10\x8c\x04"s +
                                                "sizeM\x00\x02ueeu."s);
  }
  Outcome here(Words words, const std::string& input = {}) {
    words.insert(words.begin(), kTapelens);
    Setting setting;
    setting.folder = folder_.path();
    setting.input = input;
    return run(words, setting);
  }
  Outcome shell(const std::string& script) {
    Setting setting;
    setting.folder = folder_.path();
    return run({"sh", "-c", script, kTapelens}, setting);
  }
  Outcome to(const Case& one, const std::string& output, const Words& more = {}) {
    Words words = one.command;
    words.insert(words.end(), {one.option, output});
    words.insert(words.end(), more.begin(), more.end());
    return here(words);
  }
  // True for a command whose verdict may be exit code 1.
  static bool is_fine(const Outcome& outcome) { return outcome.exit_code == 0 || outcome.exit_code == 1; }
  void expect_refused(const Outcome& outcome, const std::string& why, const std::string& what) {
    EXPECT_EQ(outcome.exit_code, 2) << what << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << what << ": " << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << what << ": " << outcome.err;
  }
  std::string in(const std::string& name) { return read_file(folder_ / name); }
  unsigned mode(const std::string& name) { return static_cast<unsigned>(fs::status(folder_ / name).permissions()); }
  TemporaryFolder folder_;
};

TEST_F(Outputs, AUsersFileIsReplacedByForceAloneAndItsOwnAgainAndAgain) {
  for (const Case& one : all_cases()) {
    write_file(folder_ / "out", kLetter);
    expect_refused(to(one, "out"), "out: exists, and is not a Tapelens ", name_of(one));
    EXPECT_EQ(in("out"), kLetter) << name_of(one);
    EXPECT_TRUE(is_fine(to(one, "out", {"--force"}))) << name_of(one);
    const std::string first = in("out");
    EXPECT_NE(first, kLetter) << name_of(one);
    const Outcome again = to(one, "out");
    EXPECT_TRUE(is_fine(again)) << name_of(one) << ": " << again.err;
    fs::remove(folder_ / "out");
    fs::remove(folder_ / "advice.txt");
  }
}

TEST_F(Outputs, OneKindDoesNotReplaceAnother) {
  const std::vector<Case> cases = all_cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    const Case& other = cases[(i + 1) % cases.size()];
    if (one.command == other.command || !is_fine(to(one, "out")) || fs::file_size(folder_ / "out") == 0) continue;
    // Checks of a budget and of a baseline in the same format have the same kind, and so do two recordings.
    const bool is_same = (one.command[0] == "check" && other.command[0] == "check" &&
                          one.command.back() == other.command.back() && one.option == other.option) ||
                         (one.command[0] == "seal" && other.command[0] == "import");
    if (!is_same)
      expect_refused(to(other, "out"), "exists, and is not a Tapelens ", name_of(one) + " then " + name_of(other));
    fs::remove(folder_ / "out");
    fs::remove(folder_ / "advice.txt");
  }
}

TEST_F(Outputs, AnInputIsNeverWrittenWithForceNeither) {
  for (const Case& one : all_cases()) {
    for (const std::string& input : one.inputs) {
      const std::string before = in(input);
      fs::create_hard_link(folder_ / input, folder_ / "hard");
      fs::create_symlink(input, folder_ / "soft");
      for (const std::string& name : {input, std::string("hard"), std::string("soft")}) {
        expect_refused(to(one, name, {"--force"}), "is an input of this command", name_of(one));
      }
      EXPECT_TRUE(in(input) == before) << name_of(one);
      EXPECT_TRUE(fs::is_symlink(folder_ / "soft")) << name_of(one);
      fs::remove(folder_ / "hard");
      fs::remove(folder_ / "soft");
    }
  }
  std::string spool;
  for (const auto& entry : fs::directory_iterator(folder_ / "left.spool")) {
    if (entry.path().extension() == ".spool") spool = entry.path().string();
  }
  const std::string before = read_file(spool);
  expect_refused(here({"seal", "left.spool", "-o", spool, "--force"}), "is an input of this command", "a spool");
  EXPECT_TRUE(read_file(spool) == before);
  const Outcome redirected = shell("\"$0\" report run.tapelens >> run.tapelens");
  expect_refused(redirected, "standard output: is an input of this command", "standard output");
}

TEST_F(Outputs, TheFilesOfASettingAreInputsToo) {
  write_file(folder_ / "tapelens.toml", "[check]\nbudgets = [\"peak<=1GiB\"]\n");
  here({"advise", "run.tapelens", "--write-plan", "plan.json"});
  for (const Words& words : {Words{"check", "run.tapelens", "-o", "tapelens.toml", "--force"},
                             Words{"advise", "run.tapelens", "--apply", "plan.json", "-o", "plan.json", "--force"},
                             Words{"advise", "run.tapelens", "--apply", "plan.json", "--write-plan", "plan.json"}}) {
    expect_refused(here(words), "is an input of this command", words[2]);
  }
}

TEST_F(Outputs, TwoOutputsOfACommandAreTwoFiles) {
  expect_refused(here({"advise", "run.tapelens", "-o", "out", "--patch", "./out"}),
                 "./out: -o and --patch name the same file", "advise");
  expect_refused(here({"check", "run.tapelens", "--budget", "peak<=1GiB", "-o", "out", "--write-baseline", "out"}),
                 "-o and --write-baseline name the same file", "check");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(Outputs, DashIsStandardOutputAndSoAreItsOtherNames) {
  for (const Case& one : all_cases()) {
    const Outcome dash = to(one, "-");
    if (!one.is_stream) {
      expect_refused(dash, "choose a file with -o", name_of(one));
      continue;
    }
    EXPECT_TRUE(is_fine(dash)) << name_of(one) << dash.err;
    EXPECT_EQ(dash.out.empty(), one.option == "--patch") << name_of(one);
    if (one.is_text_of_it) {
      EXPECT_EQ(dash.out, here(one.command).out) << name_of(one);
    }
    for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
      EXPECT_TRUE(to(one, name).out == dash.out) << name_of(one) << " " << name;
    }
  }
  EXPECT_FALSE(fs::exists(folder_ / "-"));
}

TEST_F(Outputs, ADescriptorIsWrittenWhereItStands) {
  const Outcome outcome =
      shell("exec 5> log; echo before >&5; \"$0\" report run.tapelens -o /dev/fd/5; echo after >&5; cat log");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("before\nPeak 3.0 MiB on cpu\n")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("\nafter\n")) << outcome.out;
}

TEST_F(Outputs, AFifoIsStreamedToAndStays) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const Case& one : all_cases()) {
    if (!one.is_stream) {
      expect_refused(to(one, "fifo"), "needs a regular file", name_of(one));
      continue;
    }
    std::string got;
    std::thread reader([&] { got = in("fifo"); });
    const Outcome outcome = to(one, "fifo");
    reader.join();
    EXPECT_TRUE(is_fine(outcome)) << name_of(one) << outcome.err;
    EXPECT_TRUE(got == to(one, "-").out) << name_of(one);
  }
  EXPECT_EQ(fs::status(folder_ / "fifo").type(), fs::file_type::fifo);
}

TEST_F(Outputs, ADeviceStaysOne) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(mknod((folder_ / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  ASSERT_EQ(mknod((folder_ / "full").c_str(), S_IFCHR | 0666, makedev(1, 7)), 0);
  ASSERT_EQ(mknod((folder_ / "disk").c_str(), S_IFBLK | 0600, makedev(7, 200)), 0);
  fs::create_symlink("null", folder_ / "link");
  for (const Case& one : all_cases()) {
    if (!one.is_stream) continue;
    for (const char* name : {"null", "link"}) {
      const Outcome outcome = to(one, name);
      EXPECT_TRUE(is_fine(outcome)) << name_of(one) << outcome.err;
    }
    if (one.option != "--patch") {  // which is empty
      const Outcome full = to(one, "full");
      EXPECT_EQ(full.exit_code, 3) << name_of(one);
      EXPECT_NE(full.err.find("free some space"), std::string::npos) << full.err;
    }
    expect_refused(to(one, "disk", {"--force"}), "is a device", name_of(one));
  }
  EXPECT_EQ(fs::status(folder_ / "null").type(), fs::file_type::character);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(Outputs, ALinkIsFollowed) {
  for (const Case& one : all_cases()) {
    fs::create_symlink("real", folder_ / "link");
    EXPECT_TRUE(is_fine(to(one, "link"))) << name_of(one);
    EXPECT_TRUE(is_fine(to(one, "link"))) << name_of(one);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link")) << name_of(one);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "real"))) << name_of(one);
    fs::remove(folder_ / "link");
    fs::remove(folder_ / "real");
    fs::remove(folder_ / "advice.txt");
  }
}

TEST_F(Outputs, AFolderAndAPlaceThatCannotBeWrittenAreSaidInASentence) {
  fs::create_directory(folder_ / "d");
  for (const Case& one : all_cases()) {
    for (const Words& more : {Words{}, Words{"--force"}})
      expect_refused(to(one, "d", more), "is a folder", name_of(one));
    const Outcome nowhere = to(one, "none/out");
    EXPECT_EQ(nowhere.exit_code, 3) << name_of(one);
    EXPECT_NE(nowhere.err.find("none/out: cannot be written: No such file or directory: choose another place"),
              std::string::npos)
        << nowhere.err;
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "d"));
}

TEST_F(Outputs, AFullDiskLeavesTheOlderFileAndNothingElse) {
  for (const Case& one : all_cases()) {
    if (one.option == "--patch") continue;  // it is empty
    ASSERT_TRUE(is_fine(to(one, "out"))) << name_of(one);
    const std::string before = in("out");
    const auto files = [&] { return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()); };
    const auto count = files();
    std::string words = "trap '' XFSZ; ulimit -f 0; exec \"$0\"";
    for (const std::string& word : one.command) words += " '" + (word == "advice.txt" ? "/dev/null" : word) + "'";
    const Outcome full = shell(words + " " + one.option + " out");
    EXPECT_EQ(full.exit_code, 3) << name_of(one) << full.err;
    EXPECT_NE(full.err.find("out: "), std::string::npos) << name_of(one) << full.err;
    EXPECT_TRUE(in("out") == before) << name_of(one);
    EXPECT_EQ(files(), count) << name_of(one);
    fs::remove(folder_ / "out");
    fs::remove(folder_ / "advice.txt");
  }
}

TEST_F(Outputs, WhatIsMadeOfARecordingHasItsModeAndAReplacedFileKeepsItsOwn) {
  for (const unsigned wanted : {0600U, 0640U}) {
    for (const char* input : {"run.tapelens", "other.tapelens", "memory.json"}) {
      fs::permissions(folder_ / input, static_cast<fs::perms>(wanted));
    }
    for (const Case& one : all_cases()) {
      const bool is_recording = one.command[0] == "seal" || one.command[0] == "import";
      ASSERT_TRUE(is_fine(to(one, "out"))) << name_of(one);
      EXPECT_EQ(mode("out"), is_recording ? 0600U : wanted) << name_of(one);
      fs::permissions(folder_ / "out", static_cast<fs::perms>(0664));
      ASSERT_TRUE(is_fine(to(one, "out"))) << name_of(one);
      EXPECT_EQ(mode("out"), 0664U) << name_of(one);
      fs::remove(folder_ / "out");
      fs::remove(folder_ / "advice.txt");
    }
  }
  EXPECT_EQ(here({"diff", "run.tapelens", "other.tapelens", "-o", "out"}).exit_code, 0);
  EXPECT_EQ(mode("out"), 0640U);
  fs::permissions(folder_ / "other.tapelens", static_cast<fs::perms>(0600));
  fs::remove(folder_ / "out");
  EXPECT_EQ(here({"diff", "run.tapelens", "other.tapelens", "-o", "out"}).exit_code, 0);
  EXPECT_EQ(mode("out"), 0600U) << "the secrets of both are in it";
}

// ---- files that look like ours

TEST_F(Outputs, AUsersHtmlJsonSqlitePickleAndNotesAreNotOurs) {
  const std::vector<std::pair<Words, std::string>> theirs = {
      {{"report", "run.tapelens", "--format", "html"},
       "<!doctype html>\n<html lang=\"en\">\n<head>\n<title>Tapelens</title>\n</head><body>What I think of "
       "it</body>\n"},
      {{"report", "run.tapelens", "--format", "json"}, "{\n  \"schema_version\": 1,\n  \"recording\": \"mine\"\n}\n"},
      {{"diff", "run.tapelens", "other.tapelens", "--format", "json"},
       "{\n  \"schema_version\": 1,\n  \"version\": \"2\",\n  \"devices\": []\n}\n"},
      {{"check", "run.tapelens", "--budget", "peak<=1GiB", "--format", "sarif"},
       "{\n  \"$schema\": \"x\",\n  \"version\": \"2.1.0\",\n  \"runs\": []\n}\n"},
      {{"export", "run.tapelens", "--format", "snapshot"}, "\x80\x04}(\x8c\x04path\x8c\x10/Tapelens runs/au."},
      {{"export", "run.tapelens", "--format", "speedscope"}, "{\"name\": \"\\\"Tapelens \"}\n"},
      {{"export", "run.tapelens", "--format", "sqlite"}, "SQLite format 3" + std::string(100, '\0') + "TPLN"},
      {{"report", "run.tapelens"}, "Written by tapelens report\n\nand this is what I think of it\n"},
      {{"advise", "run.tapelens", "-o", "/dev/null", "--write-plan"}, "{\n  \"tapelens_plan\": 1\n}\n"}};
  for (const auto& [command, text] : theirs) {
    write_file(folder_ / "out", text);
    Words words = command;
    if (words.back() != "--write-plan") words.emplace_back("-o");
    words.emplace_back("out");
    expect_refused(here(words), "out: exists, and is not a Tapelens ", command[0]);
    EXPECT_EQ(in("out"), text) << command[0];
  }
}

TEST_F(Outputs, WhatAUserAddedToOurTextIsTheUsers) {
  EXPECT_EQ(here({"report", "run.tapelens", "-o", "out"}).exit_code, 0);
  EXPECT_TRUE(in("out").ends_with("\nWritten by tapelens report\n")) << in("out");
  write_file(folder_ / "out", in("out") + "and this is what I think of it\n");
  expect_refused(here({"report", "run.tapelens", "-o", "out"}), "is not a Tapelens text report", "report");
}

// ---- record

TEST_F(Outputs, RecordRefusesBeforeTheProgramStarts) {
  write_file(folder_ / "train.sh", "touch ran\n" + std::string(TAPELENS_TEST_WRITER) + "\n", true);
  write_file(folder_ / "config.yaml", "lr: 1\n");
  const Words command = {"--", "sh", "train.sh", "--config=config.yaml"};
  const auto recorded = [&](Words words) {
    words.insert(words.begin(), "record");
    words.insert(words.end(), command.begin(), command.end());
    const Outcome outcome = here(words);
    return outcome;
  };
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const auto& [output, why] : {std::pair{"train.sh", "train.sh: is an input of this command"},
                                    {"config.yaml", "config.yaml: is an input of this command"},
                                    {"snapshot.pickle", "snapshot.pickle: exists, and is not a Tapelens recording"},
                                    {"fifo", "fifo: is a FIFO"}}) {
    expect_refused(recorded({"-o", output}), why, output);
  }
  for (const char* output : {"train.sh", "config.yaml", "fifo"}) {
    EXPECT_EQ(recorded({"-o", output, "--force"}).exit_code, 2) << output;
  }
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
  EXPECT_FALSE(fs::exists(folder_ / "train.sh.spool"));
  EXPECT_TRUE(in("train.sh").starts_with("touch ran\n"));
  EXPECT_EQ(recorded({"-o", "run.tapelens"}).exit_code, 0) << "an older recording is replaced";
  EXPECT_TRUE(fs::exists(folder_ / "ran"));
  EXPECT_EQ(recorded({"-o", "snapshot.pickle", "--force"}).exit_code, 0);
  EXPECT_EQ(here({"report", "snapshot.pickle"}).exit_code, 0);
}

TEST_F(Outputs, ARecordingThatTheProgramReadsIsAnInputOfRecord) {
  const std::string before = in("run.tapelens");
  const Words words = {"record",
                       "-o",
                       "run.tapelens",
                       "--",
                       "sh",
                       "-c",
                       std::string("cat run.tapelens > /dev/null; ") + TAPELENS_TEST_WRITER};
  expect_refused(here(words), "run.tapelens: is an input of this command", "record");
  EXPECT_TRUE(in("run.tapelens") == before);
}

TEST_F(Outputs, AFileThatTheProgramWritesInThePlaceOfItsRecordingStays) {
  const Outcome outcome =
      here({"record", "-o", "new", "--", "sh", "-c", std::string(TAPELENS_TEST_WRITER) + "; echo mine > new; exit 7"});
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(in("new"), "mine\n");
  EXPECT_NE(outcome.err.find("the recording could not be sealed: new: exists, and is not a Tapelens recording"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("its spools are kept: tapelens seal "), std::string::npos) << outcome.err;
  EXPECT_EQ(here({"seal", "new.spool", "-o", "newer"}).exit_code, 0);
}

TEST_F(Outputs, ARecordingOnStandardOutputIsWholeAndTheProgramsOwnGoesToStandardError) {
  const Outcome outcome =
      shell(std::string("\"$0\" record -o - -- sh -c 'echo said; exec ") + TAPELENS_TEST_WRITER + "' > piped; echo $?");
  EXPECT_EQ(outcome.out, "0\n");
  EXPECT_TRUE(outcome.err.starts_with("said\ntapelens: peak 3.0 MiB on cpu, ")) << outcome.err;
  EXPECT_EQ(here({"report", "piped"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "run.tapelens.spool"));
  EXPECT_FALSE(fs::exists(folder_ / "-"));
}

TEST_F(Outputs, SealRemovesSpoolsAndNothingElseOfThatName) {
  write_file(folder_ / "left.spool/printer.spool", kLetter);
  EXPECT_EQ(here({"seal", "left.spool", "-o", "out", "--remove"}).exit_code, 0);
  EXPECT_EQ(in("left.spool/printer.spool"), kLetter);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "left.spool"), fs::directory_iterator()), 1);
}

// ---- others

TEST_F(Outputs, ManualPagesReplaceManualPages) {
  fs::create_directory(folder_ / "man1");
  EXPECT_EQ(here({"man", "--all", "man1"}).exit_code, 0);
  EXPECT_EQ(here({"man", "--all", "man1"}).exit_code, 0);
  write_file(folder_ / "man1/tapelens-record.1", kLetter);
  expect_refused(here({"man", "--all", "man1"}), "choose another file with --all", "man");
  EXPECT_EQ(in("man1/tapelens-record.1"), kLetter);
  EXPECT_EQ(here({"man", "--all", "man1", "--force"}).exit_code, 0);
}

TEST_F(Outputs, KeptRunsOfVerifyAndBudgetReplaceTheirOwn) {
  const Words verify = {"verify", "--apply", "lossless", "--keep", "kept", "-o", "out", "--", TAPELENS_TEST_TRAINER};
  EXPECT_EQ(here(verify).exit_code, 0);
  EXPECT_EQ(here(verify).exit_code, 0);
  write_file(folder_ / "kept/bare.tapelens", kLetter);
  const Outcome refused = here(verify);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(
      refused.err.find("kept/bare.tapelens: exists, and is not a Tapelens recording: choose another file with --keep"),
      std::string::npos)
      << refused.err;
  EXPECT_EQ(in("kept/bare.tapelens"), kLetter);
  fs::create_directory(folder_ / "runs");
  const Words budget = {"budget", "--keep", "runs", "--force", "-o", "out", "--", "true"};
  EXPECT_EQ(here(budget).exit_code, 6) << "the file of another kind is replaced by force";
  EXPECT_EQ(in("runs/budget-1.log"), "\ntapelens: this run left no recording\n");
  EXPECT_EQ(here({"budget", "--keep", "runs", "-o", "out", "--", "true"}).exit_code, 6) << "no recording, its own log";
  write_file(folder_ / "runs/budget-1.log", kLetter);
  EXPECT_EQ(here({"budget", "--keep", "runs", "-o", "out", "--", "true"}).exit_code, 2);
  EXPECT_EQ(in("runs/budget-1.log"), kLetter);
}

TEST_F(Outputs, EveryCommandThatWritesHasForce) {
  for (const char* command : {"record", "seal", "import", "report", "export", "check", "diff", "ranks", "advise",
                              "verify", "fit", "budget", "man", "view"}) {
    EXPECT_NE(here({command, "--help"}).out.find("--force"), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace tapelens::test
