// `tapelens check` and `tapelens diff` as programs: exit codes, settings, formats, and errors of one line.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/gate_settings.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

class Gating : public testing::Test {
 protected:
  // A recording of one operator that allocates 3 MiB.
  void SetUp() override { here({"record", "--quiet", "--", TAPELENS_TEST_WRITER}); }
  Outcome here(Words words) {
    words.insert(words.begin(), TAPELENS_TEST_TREE "/bin/tapelens");
    Setting setting;
    setting.folder = folder_.path();
    return run(words, setting);
  }
  Outcome check(Words options = {}) {
    options.insert(options.begin(), {"check", "run.tapelens"});
    return here(options);
  }
  void expect_one_line(const Outcome& outcome, int exit_code, const std::string& words) {
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
  TemporaryFolder folder_;
};

TEST_F(Gating, ABudgetIsHeldOrNot) {
  EXPECT_EQ(check({"--budget", "peak<=3MiB"}).exit_code, 0);
  const Outcome over = check({"--budget", "peak<=3MiB", "--budget", "peak@cpu<=2MiB"});
  EXPECT_EQ(over.exit_code, 1) << over.err;
  EXPECT_EQ(over.err, "");
  EXPECT_NE(over.out.find("peak@cpu<=2MiB of cpu: 3.0 MiB (at most 2.0 MiB)"), std::string::npos) << over.out;
  EXPECT_NE(over.out.find("Failed: 1 of 2 checks"), std::string::npos) << over.out;
}

TEST_F(Gating, ARunIsNoWorseThanItsOwnBaseline) {
  const Outcome written = check({"--write-baseline", "memory.json"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  for (const char* baseline : {"memory.json", "run.tapelens"}) {
    const Outcome same = check({"--baseline", baseline, "--tolerance", "0"});
    EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
    EXPECT_NE(same.out.find("peak of cpu 3.0 MiB -> 3.0 MiB (0 B, +0.0 %; at most 3.0 MiB)"), std::string::npos)
        << same.out;
  }
  const Outcome diff = here({"diff", "memory.json", "run.tapelens"});
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_TRUE(diff.out.starts_with("Peak of cpu: 3.0 MiB, the same")) << diff.out;
}

TEST_F(Gating, SettingsComeFromAFileAndOptionsStandOverIt) {
  write_file(folder_ / "tapelens.toml",
             "[check]\nbudgets = [\"peak<=1MiB\"]\ntolerance = \"2%\"\nfail-on = \"none\"\n");
  EXPECT_EQ(check().exit_code, 1);
  write_file(folder_ / "other.toml", "[check]\nbudgets = [\"peak<=1GiB\"]\n");
  EXPECT_EQ(check({"--config", "other.toml"}).exit_code, 0);
  EXPECT_EQ(check({"--config", "other.toml", "--budget", "peak<=1MiB"}).exit_code, 1);
}

TEST_F(Gating, WhatIsWrongIsOneLineThatSaysWhere) {
  expect_one_line(check(), 2, "nothing to compare the run with: give --budget, --baseline or a tapelens.toml");
  expect_one_line(check({"--budget", "peek<=1MiB"}), 2,
                  "'peek' is not a metric: use peak, saved, reserved or allocations");
  expect_one_line(check({"--budget", "peak<=1MiB", "--tolerance", "much"}), 2,
                  "'much' is not a tolerance, like 1% or 0");
  expect_one_line(check({"--budget", "peak<=1MiB", "--fail-on", "warnin"}), 2, "did you mean 'warning'");
  expect_one_line(check({"--baseline", "main.tapelens"}), 3, "main.tapelens");
  expect_one_line(check({"--baseline", "main.json"}), 3, "main.json: cannot be read: ");
  write_file(folder_ / "report.json", here({"report", "run.tapelens", "--format", "json"}).out);
  expect_one_line(check({"--baseline", "report.json"}), 3, "no baseline (a report has not enough)");
  for (const auto& [text, words] : std::vector<std::pair<const char*, const char*>>{
           {"[check\n", "tapelens.toml:1: "},
           {"[check]\n[ .[[]]][ \"a\" .e\n", "tapelens.toml: it is not valid TOML"},
           {"[check]\nb\xc3\x88 = []\n", "tapelens.toml:2: "},
           {"[check]\nbudget = []\n", "tapelens.toml:2: [check] has no key 'budget'"},
           {"[check]\n\nbudgets = [1]\n", "tapelens.toml:3: a budget is to be a string"},
           {"[check]\ntolerance = 1\n", "tapelens.toml:2: tolerance is to be a string"},
           {"check = 1\n", "tapelens.toml:1: check is to be a table"}}) {
    write_file(folder_ / "tapelens.toml", text);
    expect_one_line(check(), 2, words);
  }
  expect_one_line(check({"--config", "none.toml"}), 3, "none.toml");
}

std::string repeated(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST_F(Gating, SettingsThatAreTooDeepOrTooLargeAreRefused) {
  constexpr size_t kMany = 100000;
  for (const std::string& text : {
           repeated("a.", kMany) + "b = 1\n",
           "[" + repeated("a.", kMany) + "b]\n",
           "[[" + repeated("\"a\" . ", kMany) + "b]]\n",
           "a = " + repeated("[", kMany) + repeated("]", kMany) + "\n",
           "a = " + repeated("[\n", kMany) + repeated("]\n", kMany) + "\n",
           "a = " + repeated("{b=", kMany) + "1" + repeated("}", kMany) + "\n",
           "a = " + repeated("{b.c=", kMany) + "1" + repeated("}", kMany) + "\n",
       }) {
    write_file(folder_ / "tapelens.toml", "[check]\n" + text);
    expect_one_line(check(), 2, ": more than 32 tables or lists within one another");
  }
  write_file(folder_ / "tapelens.toml", "[check]\n" + repeated("# filler\n", 200000));
  expect_one_line(check(), 3, "tapelens.toml: cannot be read: larger than");
}

TEST_F(Gating, DotsAndBracketsOfTextsAreNoNesting) {
  const std::string dots = repeated(".[{", 100);
  write_file(folder_ / "tapelens.toml", "# " + dots + "\n[check]\nbaseline = \"" + dots + "\\\"" + dots +
                                            "\"\nfail-on = \"\"\"\n" + dots + "\\\"\"\"\"\"\"\ntolerance = '''" + dots +
                                            "''''\n" + repeated("# 1.5 'x\n", 50) + "budgets = [" +
                                            repeated("\"peak[A.b.c.d]<=1GiB\", ", 50) + "]\n");
  const auto settings = cli::read_settings((folder_ / "tapelens.toml").string());
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->budgets.size(), 50U);
  EXPECT_EQ(settings->tolerance, dots + "'");
}

TEST_F(Gating, FilesThatAreNoneAreNotWaitedFor) {
  const std::string fifo = (folder_ / "tapelens.toml").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  expect_one_line(check({"--budget", "peak<=3MiB"}), 3, "tapelens.toml: cannot be read: not a regular file");
  ASSERT_EQ(rename(fifo.c_str(), (folder_ / "fifo.json").c_str()), 0);
  expect_one_line(check({"--baseline", "fifo.json"}), 3, "fifo.json: cannot be read: not a regular file");
  for (const char* file : {"/dev/zero", "/dev/full", ".", "fifo.json"}) {
    expect_one_line(check({"--config", file}), 3, std::string(file) + ": cannot be read: ");
    expect_one_line(here({"report", file}), 3, file);
    expect_one_line(here({"import", file, "-o", "x.tapelens"}), 3, file);
  }
}

TEST_F(Gating, ABaselineThatIsTooDeepIsRefused) {
  const std::string deep = repeated("[", 100000);
  for (const std::string& text :
       {deep, R"({"format": "tapelens baseline", "version": 1, "rows": )" + deep + repeated("]", 100000) + "}"}) {
    write_file(folder_ / "deep.json", text);
    expect_one_line(check({"--baseline", "deep.json"}), 3, "more than 64 objects and arrays within one another");
  }
}

TEST_F(Gating, EachFormatIsWhatItIsCalled) {
  const auto in = [&](const char* format) { return check({"--budget", "peak<=1MiB", "--format", format}); };
  const auto json = nlohmann::json::parse(in("json").out);
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("checks").at(0).at("after"), 3 << 20);
  EXPECT_EQ(json.at("checks").at(0).at("most"), 1 << 20);
  const auto sarif = nlohmann::json::parse(in("sarif").out);
  EXPECT_EQ(sarif.at("version"), "2.1.0");
  EXPECT_TRUE(in("junit").out.starts_with("<?xml version=\"1.0\""));
  EXPECT_NE(in("junit").out.find("failures=\"1\""), std::string::npos);
  EXPECT_TRUE(in("markdown").out.starts_with("### Memory: 1 of 1 check failed"));
  EXPECT_TRUE(in("github").out.starts_with("::error title=peak<=1MiB of cpu")) << in("github").out;
  EXPECT_NE(in("github").out.find("(at most 1.0 MiB)"), std::string::npos) << in("github").out;
  EXPECT_EQ(in("markdown").exit_code, 1);
}

TEST(Tolerance, IsAShareInPercent) {
  EXPECT_EQ(cli::parse_tolerance("1%"), 0.01);
  EXPECT_EQ(cli::parse_tolerance("0.5 %"), 0.005);
  EXPECT_EQ(cli::parse_tolerance("0"), 0.0);
  for (const char* wrong : {"", "1", "-1%", "1e3%", "%", "1%%", "nan%", "2000%"}) {
    EXPECT_EQ(cli::parse_tolerance(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace tapelens::test
