// `tapelens report` as a program: its exit codes, its one line of error, and its output paths.
#include <gtest/gtest.h>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens";

class Reporting : public testing::Test {
 protected:
  // A recording of one operator that allocates 3 MiB; --die leaves one that is cut off.
  void SetUp() override { here({"record", "--quiet", "--", TAPELENS_TEST_WRITER}); }
  Outcome here(Words words, const Words& environment = {}) {
    words.insert(words.begin(), kTapelens);
    Setting setting;
    setting.folder = folder_.path();
    setting.environment = environment;
    return run(words, setting);
  }
  Outcome report(Words options = {}, const Words& environment = {}) {
    options.insert(options.begin(), {"report", "run.tapelens"});
    return here(options, environment);
  }
  TemporaryFolder folder_;
};

TEST_F(Reporting, SaysThePeakAndTheNextCommand) {
  const Outcome outcome = report();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.starts_with("Peak 3.0 MiB on cpu\n")) << outcome.out;
  EXPECT_NE(outcome.out.find("tapelens report run.tapelens --by source"), std::string::npos) << outcome.out;
}

TEST_F(Reporting, ThereIsNoColorInAPipeUnlessAskedFor) {
  EXPECT_EQ(report().out.find('\033'), std::string::npos);
  EXPECT_NE(report({"--color", "always"}).out.find('\033'), std::string::npos);
}

TEST_F(Reporting, ColumnsSaysTheWidthOfWhatIsNoTerminal) {
  EXPECT_NE(report({}, {"COLUMNS=60"}).out, report({}, {"COLUMNS=120"}).out);
}

TEST_F(Reporting, AFileThatIsNotThereOrNoRecordingIsExitCode3AndOneLine) {
  write_file(folder_ / "text.tapelens", "not a recording");
  for (const char* file : {"missing.tapelens", "text.tapelens", "."}) {
    const Outcome outcome = here({"report", file});
    EXPECT_EQ(outcome.exit_code, 3) << file;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with(std::string("tapelens: ") + file + ": ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST_F(Reporting, WrongUsageIsExitCode2AndSaysWhatThereIs) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--by", "modul"}, "did you mean 'module'"},
      {{"--at", "later"}, "step:N"},
      {{"--at", "step:7"}, "which has 1 step"},
      {{"--process", "1"}, "pid"},
      {{"--top", "-1"}, "--top"},
      {{"--fail-above", "much"}, "8GiB"},
      {{"--format", "xml"}, "markdown"},
  };
  for (const auto& [options, says] : wrong) {
    const Outcome outcome = report(options);
    EXPECT_EQ(outcome.exit_code, 2) << options[0] << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST_F(Reporting, FailAboveIsExitCode1OnlyWhenThePeakIsGreater) {
  EXPECT_EQ(report({"--fail-above", "3MiB"}).exit_code, 0);
  const Outcome above = report({"--fail-above", "3145727"});
  EXPECT_EQ(above.exit_code, 1);
  EXPECT_NE(above.out, "");  // the command still writes the report
  EXPECT_NE(above.err.find("is above"), std::string::npos) << above.err;
}

TEST_F(Reporting, StrictIsExitCode4WhenDataWasLostAndWinsOverTheGate) {
  EXPECT_EQ(report({"--strict"}).exit_code, 0);
  here({"record", "--quiet", "--", TAPELENS_TEST_WRITER, "--die"});
  EXPECT_EQ(report({"--strict", "--fail-above", "1"}).exit_code, 4);
  // A recorded peak above the limit is certain. A recorded peak below it is inconclusive, because data was lost.
  EXPECT_EQ(report({"--fail-above", "1"}).exit_code, 1);
  const Outcome below = report({"--fail-above", "8GiB"});
  EXPECT_EQ(below.exit_code, 4);
  EXPECT_NE(below.err.find("is not above 8.0 GiB, but the recording is incomplete"), std::string::npos) << below.err;
  EXPECT_EQ(report().exit_code, 0);
  EXPECT_NE(report().out.find("This recording is not complete"), std::string::npos);
}

TEST_F(Reporting, MaxBytesCutsListsOrSaysTheFewestBytes) {
  const Outcome whole = report({"--format", "json"});
  EXPECT_EQ(report({"--format", "json", "--max-bytes", "1MiB"}).out, whole.out);
  const Outcome refused = report({"--format", "json", "--max-bytes", "100"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.out, "");
  const std::string says = "tapelens: --max-bytes 100: this output has at least ";
  ASSERT_TRUE(refused.err.starts_with(says)) << refused.err;
  const std::string least = refused.err.substr(says.size(), refused.err.find(' ', says.size()) - says.size());
  const Outcome cut = report({"--format", "json", "--max-bytes", least});
  EXPECT_EQ(cut.exit_code, 0) << cut.err;
  EXPECT_EQ(std::to_string(cut.out.size()), least);
  EXPECT_NE(cut.out.find("\"left_out\":["), std::string::npos) << cut.out;
  const Outcome text = report({"--max-bytes", "100"});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_NE(text.err.find("needs --format json"), std::string::npos) << text.err;
}

TEST_F(Reporting, WritesToAFileAndSaysWhenItCannot) {
  EXPECT_EQ(report({"--format", "json", "--output", "a.json"}).out, "");
  EXPECT_TRUE(read_file(folder_ / "a.json").starts_with("{\n"));
  const Outcome outcome = report({"--output", "no/such/folder"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(outcome.err.starts_with("tapelens: no/such/folder: cannot be written: ")) << outcome.err;
}

}  // namespace
}  // namespace tapelens::test
