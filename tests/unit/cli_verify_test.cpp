// `tapelens verify` around a program that only writes what a probe would write: every verdict and its exit code.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

class Verify : public testing::Test {
 protected:
  Outcome verify(Words options, const Words& arguments = {}) {
    Words words = {TAPELENS_TEST_TREE "/bin/tapelens", "verify"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.emplace_back(TAPELENS_TEST_TRAINER);
    words.insert(words.end(), arguments.begin(), arguments.end());
    Setting setting;
    setting.folder = folder_.path();
    return run(words, setting);
  }
  nlohmann::json json(Words options, const Words& arguments, int exit_code) {
    options.insert(options.end(), {"--format", "json", "-o", "verdict.json"});
    const Outcome outcome = verify(options, arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    return nlohmann::json::parse(read_file(folder_ / "verdict.json"));
  }
  TemporaryFolder folder_;
};

TEST_F(Verify, WhatIsTheSameIsIdenticalAndItsFiguresAreSaid) {
  const auto verdict = json({"--apply", "lossless"}, {}, 0);
  EXPECT_EQ(verdict["identical"], true);
  EXPECT_EQ(verdict["deterministic"], true);
  EXPECT_TRUE(verdict["first_difference"].is_null());
  EXPECT_EQ(verdict["compared"]["steps"], 2);
  EXPECT_EQ(verdict["compared"]["gradients"], 2);
  EXPECT_EQ(verdict["bare"]["peak_bytes"], 6 << 20);
  EXPECT_EQ(verdict["rewritten"]["peak_bytes"], 1 << 20);
  EXPECT_EQ(verdict["bare"]["saved_peak_bytes"], 6 << 20);
  EXPECT_EQ(verdict["bare"]["loss"], nlohmann::json({0.5, 0.5}));
  EXPECT_EQ(verdict["bare"]["gradient_checksum"], verdict["rewritten"]["gradient_checksum"]);
  EXPECT_EQ(verdict["bare"]["gradient_checksum"].size(), 2U);
  EXPECT_TRUE(verdict["bare"]["step_ns"].is_number());
  ASSERT_EQ(verdict["applied"].size(), 2U);
  EXPECT_EQ(verdict["applied"][0]["rewrite"], "wide-save");
  EXPECT_EQ(verdict["applied"][0]["sites"], 2);
}

TEST_F(Verify, TheOutputOfTheFirstRunIsTheOnlyOne) {
  const Outcome outcome = verify({"--apply", "lossless"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with("out\nIdentical, bit for bit, in 2 steps: 2 losses, 2 gradients, 2 parameters"))
      << outcome.out;
  EXPECT_EQ(outcome.out.find("out\n", 4), std::string::npos);
  EXPECT_EQ(outcome.err, "tapelens: run 1: bare\nerr\ntapelens: run 2: with lossless\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Verify, JsonOnStandardOutputIsNotMixedWithTheProgramsOwn) {
  const Outcome outcome = verify({"--apply", "lossless", "--format", "json"});
  EXPECT_TRUE(nlohmann::json::parse(outcome.out)["identical"]) << outcome.out;
  EXPECT_NE(outcome.err.find("out\n"), std::string::npos);
}

TEST_F(Verify, TheFirstDifferenceIsNamedAndTheSiteThatMakesItFound) {
  for (const char* wrong : {"1", "2", "3"}) {
    const auto verdict = json({"--apply", "lossless"}, {"--wrong", wrong}, 1);
    EXPECT_EQ(verdict["identical"], false);
    EXPECT_EQ(verdict["deterministic"], true);
    const auto& first = verdict["first_difference"];
    EXPECT_EQ(first["kind"], "gradient");
    EXPECT_EQ(first["parameter"], "weight");
    EXPECT_EQ(first["step"], 1);
    EXPECT_EQ(first["rewrite"], *wrong == '1' ? "unneeded-save" : "wide-save");
    ASSERT_FALSE(first["site"].is_null());
    EXPECT_EQ(first["site"]["source"], std::string("train.py:") + wrong);
  }
}

TEST_F(Verify, OfAPlanTheFirstSiteThatMakesTheDifferenceIsFound) {
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 1, "sites": [
    {"rewrite": "unneeded-save", "source": "train.py:1 main"}, {"rewrite": "wide-save", "source": "train.py:2"},
    {"rewrite": "wide-save", "source": "train.py:3"}]})");
  const auto verdict = json({"--plan", "plan.json"}, {"--wrong", "2"}, 1);
  EXPECT_EQ(verdict["first_difference"]["site"]["source"], "train.py:2");
  const Outcome text = verify({"--plan", "plan.json"}, {"--wrong", "3"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.out.find("Different: first the gradient of weight in step 1"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("It comes from wide-save, train.py:3."), std::string::npos) << text.out;
}

TEST_F(Verify, ARewriteThatMakesTheProgramFailIsADifferenceLikeAnyOther) {
  const auto verdict = json({"--apply", "lossless"}, {"--crash", "3"}, 1);
  EXPECT_EQ(verdict["first_difference"]["kind"], "exit_code");
  EXPECT_EQ(verdict["first_difference"]["bare"], "0");
  EXPECT_EQ(verdict["first_difference"]["rewritten"], "70");
  EXPECT_NE(verify({"--apply", "lossless"}, {"--crash", "3"}).out.find("the site is no good"), std::string::npos);
}

TEST_F(Verify, AProgramThatIsNotDeterministicIsSaidSo) {
  const auto verdict = json({"--apply", "lossless"}, {"--random"}, 5);
  EXPECT_EQ(verdict["deterministic"], false);
  EXPECT_EQ(verdict["identical"], false);
  EXPECT_EQ(verdict["first_difference"]["kind"], "loss");
  EXPECT_NE(verify({"--apply", "lossless"}, {"--random"}).out.find("not deterministic by itself"), std::string::npos);
}

TEST_F(Verify, WithoutAGradientOrAParameterThereIsNoVerdict) {
  const auto losses = json({"--apply", "lossless"}, {"--checksums", "losses"}, 5);
  EXPECT_EQ(losses["verdict"], "none");
  EXPECT_EQ(losses["identical"], false);
  EXPECT_EQ(losses["compared"]["losses"], 2);
  EXPECT_EQ(losses["compared"]["gradients"], 0);
  EXPECT_EQ(verify({"--apply", "lossless"}, {"--checksums", "losses"}).out.find("Identical"), std::string::npos);
  const auto left_out = json({"--apply", "lossless"}, {"--checksums", "left-out"}, 5);
  EXPECT_EQ(left_out["not_compared"], nlohmann::json({{"gradients", 2}, {"parameters", 2}}));
  EXPECT_NE(verify({"--apply", "lossless"}, {"--checksums", "left-out"})
                .out.find("No verdict: no gradient and no parameter was compared. The same in 2 steps: 2 losses. "
                          "2 gradients and 2 parameters were not compared"),
            std::string::npos);
}

TEST_F(Verify, ModelsOfOneKindArePairedByWhatTheyComputeAndNotByWhichCameFirst) {
  EXPECT_EQ(json({"--apply", "lossless"}, {"--two"}, 0)["verdict"], "identical");
  const auto wrong = json({"--apply", "lossless"}, {"--two", "--wrong", "2"}, 1);
  EXPECT_EQ(wrong["first_difference"]["rewrite"], "wide-save");
}

TEST_F(Verify, NothingIsClaimedWhereTheCommandFailsOrTellsNothing) {
  const auto claims_nothing = [&](const Outcome& outcome, int exit_code, const std::string& says) {
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_EQ(outcome.out, "out\n");
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  };
  claims_nothing(verify({"--apply", "lossless"}, {"--exit", "9"}), 6, "the command ended with exit code 9");
  claims_nothing(verify({"--apply", "lossless"}, {"--lossy"}), 4, "is not complete");
  Setting setting;
  setting.folder = folder_.path();
  const Outcome nothing =
      run({TAPELENS_TEST_TREE "/bin/tapelens", "verify", "--apply", "lossless", "--", "true"}, setting);
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_NE(nothing.err.find("nothing was compared"), std::string::npos) << nothing.err;
  const Outcome missing =
      run({TAPELENS_TEST_TREE "/bin/tapelens", "verify", "--apply", "lossless", "--", "no-such"}, setting);
  EXPECT_EQ(missing.exit_code, 6);
  EXPECT_NE(missing.err.find("no-such: command not found"), std::string::npos) << missing.err;
}

TEST_F(Verify, KeepsRecordingsAndLogsWhereItIsAskedTo) {
  EXPECT_EQ(verify({"--apply", "lossless", "--keep", "kept"}, {"--wrong", "2"}).exit_code, 1);
  for (const char* file :
       {"bare.tapelens", "rewritten.tapelens", "rewritten.log", "bare-again.tapelens", "search-1.tapelens"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "kept" / file)) << file;
  }
  EXPECT_EQ(read_file(folder_ / "kept" / "rewritten.log"), "err\nout\n");
}

TEST_F(Verify, WrongUsageIsRefusedBeforeAnythingRuns) {
  const std::vector<std::pair<Words, std::string>> wrong = {{{}, "nothing to verify"},
                                                            {{"--apply", "lossless", "--steps", "0"}, "--steps"},
                                                            {{"--apply", "lossless", "--format", "xml"}, "json"},
                                                            {{"--plan", "no.json"}, "no.json"}};
  for (const auto& [options, says] : wrong) {
    const Outcome outcome = verify(options);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace tapelens::test
