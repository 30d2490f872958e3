// Help texts of the command line, and errors for wrong arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>

#include "analyzer/text/format.h"
#include "cli/commands.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

Outcome tapelens(Words arguments) {
  arguments.insert(arguments.begin(), TAPELENS_TEST_TREE "/bin/tapelens");
  return run(arguments);
}

Outcome tapelens_at_width(Words arguments, unsigned columns) {
  arguments.insert(arguments.begin(), TAPELENS_TEST_TREE "/bin/tapelens");
  Setting setting;
  setting.environment = {"COLUMNS=" + std::to_string(columns)};
  return run(arguments, setting);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
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
  for (const cli::Command& each : cli::commands()) {
    const char* command = each.name;
    const Outcome help = tapelens({command, "--help"}), version = tapelens({command, "--version"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_NE(help.out.find("Examples:\n  "), std::string::npos) << command;
    EXPECT_TRUE(help.out.starts_with(each.summary)) << command;
    EXPECT_NE(help.out.find(std::string("Usage: tapelens ") + command), std::string::npos) << command;
    EXPECT_EQ(version.exit_code, 0) << command;
    EXPECT_TRUE(version.out.starts_with("tapelens 0.")) << version.out;
    EXPECT_EQ(tapelens({"help", command}).out, help.out);
  }
}

TEST(Usage, TheHelpHasEveryCommandInItsGroup) {
  const std::string help = tapelens({"--help"}).out;
  for (const cli::CommandGroup group : cli::kCommandGroups) {
    const size_t title = help.find("\n" + std::string(cli::title_of(group)) + ":\n");
    ASSERT_NE(title, std::string::npos) << cli::title_of(group);
    const std::string commands = help.substr(title, help.find("\n\n", title + 1) - title);
    for (const cli::Command& command : cli::commands()) {
      const bool is_there = commands.find("\n  " + std::string(command.name) + " ") != std::string::npos;
      EXPECT_EQ(is_there, command.group == group) << command.name;
    }
  }
}

TEST(Usage, HelpWrapsAtTheWidth) {
  std::vector<Words> texts = {{"--help"}};
  for (const cli::Command& command : cli::commands()) texts.push_back({command.name, "--help"});
  for (const unsigned columns : {80u, 100u}) {
    size_t widest = 0;
    for (const Words& words : texts) {
      for (const std::string& line : lines_of(tapelens_at_width(words, columns).out)) {
        EXPECT_LE(text::columns(line), columns) << line;
        widest = std::max<size_t>(widest, text::columns(line));
      }
    }
    EXPECT_GT(widest, columns - 3);
  }
  for (const Words& words : texts) EXPECT_EQ(tapelens(words).out, tapelens_at_width(words, 100).out);
}

TEST(Usage, HelpWrapsAtTheWidthOfTheTerminal) {
  const Outcome outcome =
      run({"script", "-qec", "stty cols 70; " TAPELENS_TEST_TREE "/bin/tapelens seal --help", "/dev/null"});
  std::string help = outcome.out;
  std::erase(help, '\r');
  EXPECT_EQ(help, tapelens_at_width({"seal", "--help"}, 70).out);
}

TEST(Usage, HelpSaysChoicesInWordsAndNamesNoPathOfTheSources) {
  for (const cli::Command& command : cli::commands()) {
    const std::string help = tapelens({command.name, "--help"}).out;
    for (const char* unwanted : {"INT", "in [", "NONNEGATIVE", "POSITIVE", "Excludes", "REQUIRED", "docs/"}) {
      EXPECT_EQ(help.find(unwanted), std::string::npos) << command.name << ": " << unwanted;
    }
    EXPECT_NE(help.find("More: tapelens man " + std::string(command.name)), std::string::npos) << command.name;
  }
  EXPECT_NE(tapelens({"report", "--help"}).out.find("{field,node,module,source,operator,category,step,stack}"),
            std::string::npos);
  EXPECT_NE(tapelens({"diff", "--help"}).out.find("{line,field,module,category,operator}"), std::string::npos);
}

TEST(Usage, NumbersOutsideOfTheirRangeAreRefusedInWords) {
  expect_one_line(tapelens({"report", "x", "--process", "0"}), "'0' is not a whole number from 1 to 4294967295");
  expect_one_line(tapelens({"report", "x", "--top", "-1"}), "'-1' is not a whole number of at least 0");
  expect_one_line(tapelens({"ranks", "x", "--top", "many"}), "'many' is not a whole number of at least 0");
}

TEST(FormerNames, OfCommandsStillWorkAndAreInNoText) {
  EXPECT_EQ(tapelens({"gpus"}).out, tapelens({"fit", "--list-gpus"}).out);
  EXPECT_EQ(tapelens({"gpus"}).exit_code, 0);
  EXPECT_EQ(tapelens({"checks"}).out, tapelens({"advise", "--list"}).out);
  EXPECT_EQ(tapelens({"checks", "wide-save"}).out, tapelens({"advise", "--list", "wide-save"}).out);
  EXPECT_EQ(tapelens({"checks", "--color", "never", "wide-save"}).out, tapelens({"checks", "wide-save"}).out);
  EXPECT_EQ(tapelens({"checks", "--help"}).out, tapelens({"advise", "--help"}).out);
  EXPECT_EQ(tapelens({"--help"}).out.find("checks"), std::string::npos);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = tapelens({"completion", shell}).out;
    for (const char* former : {"gpus\\)", "checks\\)", "simulate-gpu", "simulate-world", "--plan(?!-)"}) {
      EXPECT_FALSE(std::regex_search(script, std::regex(former))) << shell << ": " << former;
    }
  }
}

TEST(FormerNames, OfOptionsStillWork) {
  const auto same = [](Words former, Words now) {
    const Outcome a = tapelens(former), b = tapelens(now);
    EXPECT_EQ(a.exit_code, b.exit_code) << former[1];
    EXPECT_EQ(a.out + a.err, b.out + b.err) << former[1];
  };
  for (const char* command : {"record", "run", "budget"}) {
    same({command, "--simulate-gpu", "B9", "--", "echo"}, {command, "--gpu", "B9", "--", "echo"});
    same({command, "--simulate-gpu=B9", "--", "echo"}, {command, "--gpu=B9", "--", "echo"});
    same({command, "--gpu", "T4", "--simulate-world", "x", "--", "echo"},
         {command, "--gpu", "T4", "--world", "x", "--", "echo"});
  }
  for (const char* command : {"record", "run", "verify"}) {
    same({command, "--plan", "./no.json", "--", "echo"}, {command, "--apply", "./no.json", "--", "echo"});
  }
  same({"export", "no.tapelens", "--to", "perfetto"}, {"export", "no.tapelens", "--format", "perfetto"});
  // A command that never had the option does not have it now, and the options of the command to run stay.
  expect_one_line(tapelens({"report", "x", "--plan", "y"}), "unknown option '--plan'");
  EXPECT_EQ(tapelens({"run", "--apply", "lossless", "--", "echo", "--plan", "--to"}).out, "--plan --to\n");
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
    Words words = {"perfetto",         "max-size", "keep-spool", "strict",    "trivial-concat",
                   "recompute-budget", "bitwise",  "list-gpus",  "A100-40GB", "stack"};
    for (const cli::Command& command : cli::commands()) words.emplace_back(command.name);
    for (const std::string& word : words) {
      EXPECT_NE(script.out.find(word), std::string::npos) << shell << ": " << word;
    }
  }
}

TEST(Manual, EveryOptionIsInThePageOfItsCommandAndEveryCommandHasOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(tapelens({"man", "--all", folder.path().string()}).exit_code, 0);
  const std::string whole = read_file(folder / "tapelens.1");
  for (const cli::Command& each : cli::commands()) {
    const char* command = each.name;
    const std::string name = std::regex_replace(std::string("tapelens-") + command, std::regex("-"), "\\-");
    EXPECT_NE(whole.find(name), std::string::npos) << command;
    const std::string page = read_file(folder / (std::string("tapelens-") + command + ".1"));
    EXPECT_EQ(tapelens({"man", command}).out, page);
    EXPECT_TRUE(page.starts_with(".TH " + name + " 1 ")) << page;
    for (const char* section :
         {".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", "Examples:\n", ".SH DESCRIPTION\n.PP\n", ".SH SEE ALSO\n"}) {
      EXPECT_NE(page.find(section), std::string::npos) << command << section;
    }
  }
  const std::string record = read_file(folder / "tapelens-record.1");
  for (const char* option : {".B \\-o, \\-\\-output FILE", ".B \\-\\-max\\-size SIZE", ".B \\-\\-quiet"}) {
    EXPECT_NE(record.find(option), std::string::npos) << option << "\n" << record;
  }
  expect_one_line(tapelens({"man", "nothing"}), "unknown command 'nothing'");
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
  EXPECT_EQ(completed({"tapelens", "record", "--max-s"}, folder.path()), "--max-size\n");
  EXPECT_EQ(completed({"tapelens", "record", "--stacks", "p"}, folder.path()), "python\n");
  EXPECT_EQ(completed({"tapelens", "run", "--apply", "bit"}, folder.path()), "bitwise\n");
  EXPECT_EQ(completed({"tapelens", "verify", "--allow", "trivial"}, folder.path()), "trivial-concat\n");
  EXPECT_EQ(completed({"tapelens", "run", "--gpu", "A100-4"}, folder.path()), "A100-40GB\n");
  EXPECT_EQ(completed({"tapelens", "report", "--by", "sta"}, folder.path()), "stack\n");
  EXPECT_EQ(completed({"tapelens", "advise", "--list", "wide"}, folder.path()), "wide-save\n");
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
