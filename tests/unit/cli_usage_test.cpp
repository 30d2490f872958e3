// Help texts of the command line, and errors for wrong arguments.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

Outcome tapelens(Words arguments) {
  arguments.insert(arguments.begin(), TAPELENS_TEST_TREE "/bin/tapelens");
  return run(arguments);
}

void expect_one_line(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST(Usage, AMistypedCommandIsSuggested) {
  expect_one_line(tapelens({"recrod", "--", "ls"}), "did you mean 'record'?");
}

TEST(Usage, AnUnknownCommandWithNothingNearIsSaidPlainly) {
  const Outcome outcome = tapelens({"frobnicate"});
  expect_one_line(outcome, "unknown command 'frobnicate'");
  EXPECT_EQ(outcome.err.find("did you mean"), std::string::npos);
}

TEST(Usage, AMistypedOptionIsSuggested) {
  expect_one_line(tapelens({"record", "--step", "1:2", "--", "ls"}), "did you mean '--steps'?");
  expect_one_line(tapelens({"--versoin"}), "did you mean '--version'?");
}

TEST(Usage, ACommandWithoutDashesIsToldWhereTheyGo) {
  expect_one_line(tapelens({"record", "python", "train.py", "--lr", "1"}), "-- python train.py --lr 1");
}

TEST(Usage, WrongValuesAreRefusedBeforeTheCommandRuns) {
  expect_one_line(tapelens({"record", "--steps", "4:2", "--", "echo", "ran"}), "'4:2' is not A:B");
  expect_one_line(tapelens({"record", "--max-size", "lots", "--", "echo", "ran"}), "'lots' is not a size");
  expect_one_line(tapelens({"record", "--stacks", "java", "--", "echo", "ran"}), "'java' is not");
  expect_one_line(tapelens({"record", "--"}), "no command");
  expect_one_line(tapelens({"record"}), "no command");
  expect_one_line(tapelens({"seal", "x.spool"}), "--output");
  expect_one_line(tapelens({"completion", "ksh"}), "ksh");
}

TEST(Usage, EveryCommandHasHelpWithExamplesAndAVersion) {
  for (const char* command :
       {"record", "run",    "verify", "fit",   "budget", "report", "advise",      "diff",   "export",     "check",
        "view",   "checks", "gpus",   "ranks", "seal",   "import", "build-probe", "doctor", "completion", "man"}) {
    const Outcome help = tapelens({command, "--help"}), version = tapelens({command, "--version"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_NE(help.out.find("Examples:\n  "), std::string::npos) << command;
    EXPECT_NE(help.out.find(std::string("Usage: tapelens ") + command), std::string::npos) << command;
    EXPECT_EQ(version.exit_code, 0) << command;
    EXPECT_TRUE(version.out.starts_with("tapelens 0.")) << version.out;
    EXPECT_EQ(tapelens({"help", command}).out, help.out);
  }
}

TEST(Usage, WithoutArgumentsTheHelpIsAnError) {
  const Outcome outcome = tapelens({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, tapelens({"--help"}).out);
}

TEST(Completion, EveryCommandAndOptionIsInEveryScript) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = tapelens({"completion", shell});
    EXPECT_EQ(script.exit_code, 0);
    for (const char* word : {"record",         "run",
                             "verify",         "fit",
                             "budget",         "report",
                             "advise",         "diff",
                             "export",         "perfetto",
                             "check",          "view",
                             "checks",         "seal",
                             "build-probe",    "doctor",
                             "completion",     "max-size",
                             "keep-spool",     "strict",
                             "trivial-concat", "recompute-budget",
                             "bitwise"}) {
      EXPECT_NE(script.out.find(word), std::string::npos) << shell << ": " << word;
    }
  }
}

TEST(Manual, EveryOptionIsInThePageOfItsCommandAndEveryCommandHasOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(tapelens({"man", "--all", folder.path().string()}).exit_code, 0);
  const std::string whole = read_file(folder / "tapelens.1");
  for (const char* command :
       {"record", "run",    "verify", "fit",   "budget", "report", "advise",      "diff",   "export",     "check",
        "view",   "checks", "gpus",   "ranks", "seal",   "import", "build-probe", "doctor", "completion", "man"}) {
    const std::string name = std::regex_replace(std::string("tapelens-") + command, std::regex("-"), "\\-");
    EXPECT_NE(whole.find(name), std::string::npos) << command;
    const std::string page = read_file(folder / (std::string("tapelens-") + command + ".1"));
    EXPECT_EQ(tapelens({"man", command}).out, page);
    EXPECT_TRUE(page.starts_with(".TH " + name + " 1 ")) << page;
    for (const char* section : {".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", "Examples:\n", ".SH SEE ALSO\n"}) {
      EXPECT_NE(page.find(section), std::string::npos) << command << section;
    }
  }
  const std::string record = read_file(folder / "tapelens-record.1");
  for (const char* option : {".B \\-o, \\-\\-output FILE", ".B \\-\\-max\\-size SIZE", ".B \\-\\-quiet"}) {
    EXPECT_NE(record.find(option), std::string::npos) << option << "\n" << record;
  }
  expect_one_line(tapelens({"man", "nothing"}), "there is no command 'nothing'");
}

// Completes `line` as bash would, with the script that tapelens prints.
std::string completed(const Words& line, const std::filesystem::path& folder) {
  std::string words;
  for (const std::string& word : line) words += " '" + word + "'";
  Setting setting;
  setting.folder = folder;
  return run({"bash", "-c",
              "source <(" TAPELENS_TEST_TREE "/bin/tapelens completion bash); compopt() { :; }; COMP_WORDS=(" + words +
                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tapelens; printf '%s\\n' \"${COMPREPLY[@]}\""},
             setting)
      .out;
}

TEST(Completion, BashCompletesCommandsOptionsValuesAndRecordings) {
  const TemporaryFolder folder;
  write_file(folder / "run.tapelens", "");
  write_file(folder / "other.txt", "");
  EXPECT_EQ(completed({"tapelens", "rec"}, folder.path()), "record\n");
  EXPECT_EQ(completed({"tapelens", "record", "--max"}, folder.path()), "--max-size\n");
  EXPECT_EQ(completed({"tapelens", "record", "--stacks", "p"}, folder.path()), "python\n");
  EXPECT_EQ(completed({"tapelens", "run", "--apply", "bit"}, folder.path()), "bitwise\n");
  EXPECT_EQ(completed({"tapelens", "verify", "--allow", "trivial"}, folder.path()), "trivial-concat\n");
  EXPECT_EQ(completed({"tapelens", "fit", "--plac"}, folder.path()), "--placeholder\n");
  EXPECT_EQ(completed({"tapelens", "report", ""}, folder.path()), "run.tapelens\n");
  EXPECT_EQ(completed({"tapelens", "report", "--format", "js"}, folder.path()), "json\n");
  EXPECT_EQ(completed({"tapelens", "view", ""}, folder.path()), "run.tapelens\n");
  EXPECT_EQ(completed({"tapelens", "view", "run.tapelens", ""}, folder.path()), "run.tapelens\n");
  EXPECT_EQ(completed({"tapelens", "view", "--page", "st"}, folder.path()), "steps\n");
  EXPECT_EQ(completed({"tapelens", "view", "--screenshot", "oth"}, folder.path()), "other.txt\n");
}

TEST(Doctor, AProgramThatDoesNotExistWillNotWork) {
  const Outcome outcome = tapelens({"doctor", "--", "no-such-program"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("BAD   no-such-program: not found"), std::string::npos) << outcome.out;
}

TEST(Doctor, APythonWithoutPyTorchWillNotWorkAndIsToldHow) {
  // -S and -I hide all site-packages: this interpreter certainly has no PyTorch.
  const TemporaryFolder folder;
  write_file(folder / "python-bare", "#!/bin/sh\nexec python3 -I -S \"$@\"\n", true);
  const Outcome outcome = tapelens({"doctor", "--", (folder / "python-bare").string()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("has no PyTorch"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("tapelens doctor -- PYTHON"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace tapelens::test
