// `tapelens ranks`, and recordings of ranks: patterns of -o, --ranks, the summary in each file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/sealing.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens";

class RanksOfAJob : public testing::Test {
 protected:
  Outcome here(const Words& words, std::vector<std::string> environment = {}) {
    Setting setting;
    setting.folder = folder_.path();
    setting.environment = std::move(environment);
    return run(words, setting);
  }
  // One recording for each rank, as with torchrun --no-python.
  Outcome record(int rank, const Words& options, const Words& arguments = {}) {
    Words words = {kTapelens, "record"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", TAPELENS_TEST_WRITER});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return here(words, {"RANK=" + std::to_string(rank)});
  }
  nlohmann::json ranks(const Words& options) {
    Words words = {kTapelens, "ranks", "--format", "json"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = here(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
  TemporaryFolder folder_;
};

TEST_F(RanksOfAJob, EachRankHasItsFileAndRanksReadsTheFolder) {
  for (const int rank : {0, 1, 2}) {
    const Outcome outcome = record(rank, {"-o", "runs/one/%h-%r.tapelens"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  EXPECT_TRUE(fs::exists(folder_ / ("runs/one/" + std::string(host) + "-2.tapelens")));
  const nlohmann::json said = ranks({"runs"});
  ASSERT_EQ(said["ranks"].size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(said["ranks"][rank]["rank"], rank);
    EXPECT_EQ(said["ranks"][rank]["peak_bytes"], 3 << 20);
    EXPECT_EQ(said["ranks"][rank]["end"], "fine");
  }
  EXPECT_EQ(said["findings_unknown"], 0);                       // the checks ran when it was sealed
  EXPECT_TRUE(said["remarks"].size() == 1) << said["remarks"];  // fewer than five
}

TEST_F(RanksOfAJob, ARankThatDiedIsNamed) {
  record(0, {"-o", "%r.tapelens"});
  record(1, {"-o", "%r.tapelens"}, {"--die"});
  const Outcome outcome = here({kTapelens, "ranks", "."});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("rank 1: it was killed, crashed or still ran"), std::string::npos) << outcome.out;
}

TEST_F(RanksOfAJob, DamagedFilesAreNamedAndLeftOut) {
  record(0, {"-o", "0.tapelens"});
  record(1, {"-o", "1.tapelens"});
  write_file(folder_ / "2.tapelens", "no recording");
  fs::resize_file(folder_ / "1.tapelens", fs::file_size(folder_ / "1.tapelens") - 5);
  const nlohmann::json said = ranks({"."});
  EXPECT_EQ(said["ranks"].size(), 1u);
  ASSERT_EQ(said["left_out"].size(), 2u);
  EXPECT_NE(said["left_out"][0]["why"].get<std::string>().find("cut off"), std::string::npos) << said["left_out"];
  EXPECT_EQ(here({kTapelens, "ranks", "--strict", "."}).exit_code, 4);
  EXPECT_EQ(here({kTapelens, "ranks", "2.tapelens"}).exit_code, 3);
}

TEST_F(RanksOfAJob, WhatIsNotThereIsSaid) {
  fs::create_directory(folder_ / "empty");
  Outcome outcome = here({kTapelens, "ranks", "empty"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("the folder has no recording (*.tapelens)"), std::string::npos) << outcome.err;
  outcome = here({kTapelens, "ranks", "nothing.tapelens"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("nothing.tapelens"), std::string::npos) << outcome.err;
  record(0, {});
  EXPECT_EQ(here({kTapelens, "ranks", "--device", "cuda", "run.tapelens"}).exit_code, 2);
}

TEST_F(RanksOfAJob, RanksThatAreNotKeptLeaveASummary) {
  ASSERT_EQ(record(0, {"--ranks", "0,7", "-o", "0.tapelens"}).exit_code, 0);
  const Outcome outcome = record(1, {"--ranks", "0,7", "-o", "1.tapelens"});
  ASSERT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.err.starts_with("tapelens: peak 3.0 MiB on cpu")) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "1.tapelens.spool"));
  EXPECT_EQ(ranks({"."})["ranks"].size(), 2u);
  EXPECT_EQ(here({kTapelens, "report", "0.tapelens"}).exit_code, 0);
  const Outcome alone = here({kTapelens, "report", "1.tapelens"});
  EXPECT_NE(alone.exit_code, 0);
  EXPECT_NE(alone.err.find("holds no process, as one of ranks"), std::string::npos) << alone.err;
}

TEST_F(RanksOfAJob, APatternWithoutARankIsAnErrorBeforeTheCommandRuns) {
  for (const char* variable : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) unsetenv(variable);
  const Outcome outcome = here({kTapelens, "record", "-o", "%r.tapelens", "--", "touch", "ran"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("torchrun --no-python"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
  EXPECT_EQ(here({kTapelens, "record", "--ranks", "0,x", "--", "true"}).exit_code, 2);
}

TEST(Patterns, AreThreeAndAnythingElseStays) {
  EXPECT_EQ(*cli::expand_output("50%.tapelens", ""), "50%.tapelens");
  EXPECT_EQ(*cli::expand_output("a%%h", ""), "a%h");
  EXPECT_EQ(*cli::expand_output("%p", ""), std::to_string(getpid()));
  EXPECT_EQ(*cli::expand_output("%x%", ""), "%x%");
  EXPECT_EQ(*cli::expand_output("%r.tapelens", "7"), "7.tapelens");
  EXPECT_FALSE(cli::expand_output("%r.tapelens", ""));
  EXPECT_TRUE(cli::has_rank("%h-%r"));
  EXPECT_FALSE(cli::has_rank("%%r-%h"));
  EXPECT_FALSE(cli::has_pattern("50%.tapelens"));
  EXPECT_TRUE(cli::has_pattern("x%r"));
  EXPECT_FALSE(cli::has_pattern("100%"));
}

TEST(Patterns, ListsOfRanks) {
  EXPECT_EQ(*cli::parse_ranks("0,7,16-18"), (cli::RankList{0, 7, 16, 17, 18}));
  for (const char* bad : {"", ",", "1,", "-1", "3-1", "a", "1-", "1--2", "0-99999999999"}) {
    EXPECT_FALSE(cli::parse_ranks(bad)) << bad;
  }
}

}  // namespace
}  // namespace tapelens::test
