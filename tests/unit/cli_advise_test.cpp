// `tapelens advise` as a program: options, exit codes, and the shared libraries that they load.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyzer/check/check.h"
#include "analyzer/text/format.h"
#include "cli/checking.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

using nlohmann::json;

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens", kPlugins = TAPELENS_TEST_PLUGINS "/";
constexpr uint64_t kMiB = 1 << 20;

// The lines of a text with this prefix.
size_t lines_with(const std::string& text, const std::string& beginning) {
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.starts_with(beginning);
  return count;
}

class Advising : public testing::Test {
 protected:
  // Eight MiB of doubles that a node saves until its backward.
  void SetUp() override {
    {
      trace::SpoolBuilder b(folder_, "1.spool");
      b.information("torch_version", "2.15.0");
      const uint32_t layout = b.layout("float64", 8, {1024, 1024}, {1024, 1});
      b.op("aten::exp", {}, b.stack({b.frame(folder_ / "train.py", 7, "main")})).alloc(0x1000, 8 * kMiB);
      b.node("ExpBackward0", 0x10).save(0x10, "result", 0x1000, 8 * kMiB, layout).end_op();
      b.backward().evaluate(0x10).op("aten::mul", {0x1000}).alloc(0x2000, kMiB).end_op().free(0x1000);
      b.end_evaluation().end_backward().free(0x2000);
      b.finish();
    }
    trace::seal_folder(folder_);
  }
  Outcome here(Words words, const Words& environment = {}) {
    words.insert(words.begin(), kTapelens);
    Setting setting;
    setting.folder = folder_.path();
    setting.environment = environment;
    return run(words, setting);
  }
  Outcome advise(Words options = {}, const Words& environment = {}) {
    options.insert(options.begin(), {"advise", "run.tapelens"});
    return here(options, environment);
  }
  Outcome with_sample(Words options = {}) {
    options.insert(options.end(), {"--plugin", kPlugins + "float64-save.so", "--check", "float64-save"});
    return advise(options);
  }
  trace::TestFolder folder_;
};

TEST_F(Advising, APluginsFindingIsSeenAndScored) {
  const Outcome outcome = with_sample({"--format", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json value = json::parse(outcome.out);
  ASSERT_EQ(value["findings"].size(), 1u) << outcome.out;
  const json& finding = value["findings"][0];
  EXPECT_EQ(finding["check"], "float64-save");
  EXPECT_EQ(finding["bytes"], 8 * kMiB);
  EXPECT_EQ(finding["peak_before_bytes"], 9 * kMiB);
  EXPECT_EQ(finding["peak_after_bytes"], 5 * kMiB);
  EXPECT_EQ(finding["source"]["line"], 7);
  EXPECT_EQ(value["advice"]["checks"], json::array({"float64-save"}));
}

TEST_F(Advising, APluginIsFoundInTheFoldersOfItsVariable) {
  std::filesystem::create_directory(folder_ / "plugins");
  std::filesystem::copy(kPlugins + "float64-save.so", folder_ / "plugins");
  const Words environment = {"TAPELENS_PLUGIN_PATH=" + folder_ / "plugins" + ":"};
  EXPECT_EQ(lines_with(here({"advise", "--list"}, environment).out, "float64-save"), 1u);
  EXPECT_NE(here({"report", "run.tapelens"}, environment).out.find("saves float64"), std::string::npos);
  EXPECT_EQ(lines_with(here({"advise", "--list"}).out, "float64-save"), 0u);
}

TEST_F(Advising, WhatIsNoPluginForThisTapelensIsRefusedInOneLineAndTheRestGoesOn) {
  write_file(folder_ / "text.so", "not a shared library");
  const std::vector<std::pair<std::string, std::string>> refused = {
      {kPlugins + "other_interface.so", "check interface " + std::to_string(check::CheckInterface::kVersion + 1) +
                                            ", not for " + std::to_string(check::CheckInterface::kVersion)},
      {kPlugins + "other_layout.so", "another compiler or other headers"},
      {kPlugins + "no_plugin.so", "not a plugin"},
      {kPlugins + "twin.so", "there is a check 'trivial-concat' already"},
      {folder_ / "text.so", "text.so"},
      {folder_ / "missing.so", "missing.so"},
  };
  for (const auto& [path, why] : refused) {
    const Outcome outcome = with_sample({"--format", "json", "--plugin", path});
    EXPECT_EQ(outcome.exit_code, 0) << path;
    EXPECT_EQ(lines_with(outcome.err, ""), 1u) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("tapelens: " + path + ": ")) << outcome.err;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["findings"].size(), 1u) << path;
  }
}

TEST_F(Advising, ACheckThatThrowsIsLeftOutInOneLineAndTheRestGoesOn) {
  const Words options = {"--plugin", kPlugins + "throws.so", "--check", "test-throws"};
  Words words = options;
  words.insert(words.end(), {"--format", "json"});
  const Outcome outcome = with_sample(words);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "tapelens: check failed: test-throws (" + kPlugins + "throws.so): out of luck\n");
  const json value = json::parse(outcome.out);
  EXPECT_EQ(value["findings"].size(), 1u);
  EXPECT_EQ(value["advice"]["refused"].size(), 1u);
  EXPECT_EQ(value["advice"]["checks"], json::array({"float64-save"}));
  EXPECT_NE(with_sample(options).out.find("Checks that failed"), std::string::npos);
}

TEST_F(Advising, OptionsReachTheirCheck) {
  EXPECT_NE(with_sample({"--all"}).out.find("aten::exp saves float64"), std::string::npos);
  EXPECT_NE(with_sample({"--option", "float64-save.min-bytes=9MiB"}).out.find("No findings."), std::string::npos);
  EXPECT_NE(with_sample({"--min-bytes", "9MiB"}).out.find("No findings."), std::string::npos);
}

TEST_F(Advising, OneFindingIsChosenByItsNumberOrItsId) {
  const std::string id = json::parse(with_sample({"--format", "json"}).out)["findings"][0]["id"];
  const Outcome by_number = with_sample({"--finding", "1"}), by_id = with_sample({"--finding", id});
  EXPECT_EQ(by_number.exit_code, 0) << by_number.err;
  EXPECT_NE(by_number.out.find(id), std::string::npos) << by_number.out;
  EXPECT_EQ(by_number.out, by_id.out);
  const Outcome none = with_sample({"--finding", "2"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("unknown finding 2: the findings are 1 to 1"), std::string::npos) << none.err;
}

TEST_F(Advising, FailOnIsExitCode1WhenAFindingIsAsGrave) {
  EXPECT_EQ(with_sample({"--fail-on", "warning"}).exit_code, 0);
  const Outcome grave = with_sample({"--fail-on", "info"});
  EXPECT_EQ(grave.exit_code, 1);
  EXPECT_NE(grave.out, "");  // the command still writes the findings
  EXPECT_NE(grave.err.find("1 finding is of severity info or higher"), std::string::npos) << grave.err;
}

TEST_F(Advising, WrongUsageIsExitCode2AndSaysWhatThereIs) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--check", "trivial-concatt"}, "did you mean 'trivial-concat'?"},
      {{"--option", "trivial-concat.min"}, "CHECK.NAME=VALUE"},
      {{"--option", "trivial-concat.much=1"}, "it has min-bytes"},
      {{"--option", "nothing.much=1"}, "not of the form CHECK.OPTION"},
      {{"--min-bytes", "much"}, "1MiB"},
      {{"--fits", "much"}, "24GiB"},
      {{"--format", "xml"}, "sarif"},
      {{"--fail-on", "fatal"}, "warning"},
      {{"--process", "1"}, "pid"},
  };
  for (const auto& [options, says] : wrong) {
    const Outcome outcome = advise(options);
    EXPECT_EQ(outcome.exit_code, 2) << options[0] << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_EQ(lines_with(outcome.err, ""), 1u) << outcome.err;
  }
}

TEST_F(Advising, AFileThatIsNoRecordingOrAPlaceThatCannotBeWrittenIsExitCode3) {
  write_file(folder_ / "text.tapelens", "not a recording");
  for (const Words& words : {Words{"advise", "text.tapelens"}, Words{"advise", "missing.tapelens"},
                             Words{"advise", "run.tapelens", "-o", "no/such/folder"},
                             Words{"advise", "run.tapelens", "--write-plan", "no/such/folder"}}) {
    const Outcome outcome = here(words);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_EQ(lines_with(outcome.err, ""), 1u) << outcome.err;
  }
}

TEST_F(Advising, SarifNamesTheFileAsTheRepositoryDoesAndTheRuleOfThePlugin) {
  std::filesystem::create_directories(folder_ / "src");
  std::filesystem::create_directory(folder_ / ".git");
  Setting setting;
  setting.folder = folder_ / "src";
  const Outcome outcome = run({kTapelens, "advise", "../run.tapelens", "--format", "sarif", "--plugin",
                               kPlugins + "float64-save.so", "--check", "float64-save", "-o", "out.sarif"},
                              setting);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const json log = json::parse(read_file(folder_ / "src/out.sarif"))["runs"][0];
  ASSERT_EQ(log["results"].size(), 1u);
  const json& result = log["results"][0];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "train.py");
  EXPECT_EQ(log["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"], "float64-save");
}

TEST_F(Advising, ThePlanIsWrittenBesideTheFindings) {
  const Outcome outcome = advise({"--write-plan", "plan.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out, "");
  const json plan = json::parse(read_file(folder_ / "plan.json"));
  EXPECT_EQ(plan["tapelens_plan"], 2);
  EXPECT_EQ(plan["torch"], "2.15.0");
  EXPECT_TRUE(plan["sites"].is_array());
}

TEST_F(Advising, ListsAllChecksAndExplainsOne) {
  const Outcome all = here({"advise", "--list"}), one = here({"advise", "--list", "trivial-concat"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(lines_with(all.out, "trivial-concat "), 1u) << all.out;
  EXPECT_TRUE(one.out.starts_with("trivial-concat: ")) << one.out;
  EXPECT_NE(one.out.find("min-bytes"), std::string::npos);
  const Outcome wrong = here({"advise", "--list", "trivial-concta"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'trivial-concat'?"), std::string::npos) << wrong.err;
  const Outcome plugin = here({"advise", "--list", "float64-save", "--plugin", kPlugins + "float64-save.so"});
  EXPECT_NE(plugin.out.find("Training seldom needs float64"), std::string::npos) << plugin.out;
  EXPECT_EQ(here({"advise", "--list", "--plugin", kPlugins + "float64-save.so", "float64-save"}).out, plugin.out);
  EXPECT_EQ(here({"advise", "--check", "wide-save", "run.tapelens"}).out, advise({"--check", "wide-save"}).out);
  const Outcome nothing = here({"advise"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("FILE is required"), std::string::npos) << nothing.err;
}

TEST_F(Advising, PagesOfChecksHaveNoMarksOfMarkdown) {
  for (const std::string& id : cli::ids(cli::all_checks())) {
    const std::string page = here({"advise", "--list", id}).out;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("    ")) continue;  // code
      for (const char* mark : {"```", "**", "](", "| ", " |", "`"}) {
        EXPECT_EQ(line.find(mark), std::string::npos) << id << ": " << line;
      }
      EXPECT_FALSE(line.starts_with("#")) << id << ": " << line;
      EXPECT_LE(text::columns(line), 100u) << id << ": " << line;
    }
  }
}

}  // namespace
}  // namespace tapelens::test
