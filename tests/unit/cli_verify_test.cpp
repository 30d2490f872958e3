// `tapelens verify` around a program that only writes the records of a probe: every verdict and its exit code.
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
  const auto verdict = json({"--apply", "plan.json"}, {"--wrong", "2"}, 1);
  EXPECT_EQ(verdict["first_difference"]["site"]["source"], "train.py:2");
  const Outcome text = verify({"--apply", "plan.json"}, {"--wrong", "3"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.out.find("Different: first the gradient of weight in step 1"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("It comes from wide-save, train.py:3."), std::string::npos) << text.out;
}

TEST_F(Verify, ARewriteThatMakesTheProgramFailIsADifferenceLikeAnyOther) {
  const auto verdict = json({"--apply", "lossless"}, {"--crash", "3"}, 1);
  EXPECT_EQ(verdict["first_difference"]["kind"], "exit_code");
  EXPECT_EQ(verdict["first_difference"]["bare"], "0");
  EXPECT_EQ(verdict["first_difference"]["rewritten"], "70");
  EXPECT_NE(verify({"--apply", "lossless"}, {"--crash", "3"}).out.find("the site does not work"), std::string::npos);
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

TEST_F(Verify, WhatTorchAutogradGradReturnsIsComparedWhereNothingElseIs) {
  const Words returned = {"--checksums", "returned", "--no-steps"};
  const auto same = json({"--apply", "lossless"}, returned, 0);
  EXPECT_EQ(same["compared"]["returned_gradients"], 4);
  EXPECT_EQ(same["compared"]["gradients"], 0);
  EXPECT_TRUE(verify({"--apply", "lossless"}, returned)
                  .out.starts_with("out\nIdentical, bit for bit, in 2 steps: 2 losses, 4 gradients returned by "
                                   "torch.autograd.grad.\n"));
  Words wrong = returned;
  wrong.insert(wrong.end(), {"--wrong", "2"});
  const auto first = json({"--apply", "lossless"}, wrong, 1)["first_difference"];
  EXPECT_EQ(first["kind"], "returned_gradient");
  EXPECT_EQ(first["parameter"], "weight");
  EXPECT_EQ(first["step"], 1);
  EXPECT_EQ(first["site"]["source"], "train.py:2");
  EXPECT_NE(verify({"--apply", "lossless"}, wrong)
                .out.find("first the gradient that torch.autograd.grad returned for weight in step 1"),
            std::string::npos);
}

TEST_F(Verify, WithoutARewriteThatWasAppliedThereIsNoVerdict) {
  for (const auto& [option, why] : std::vector<std::pair<std::string, std::string>>{
           {"--record-only", "this probe only records"},
           {"--plain",
            "no tensor that autograd saved and no operator is of a kind that is rewritten, with a storage of at least "
            "64.0 KiB (--rewrite-min-bytes)"}}) {
    const auto verdict = json({"--apply", "lossless"}, {option}, 5);
    EXPECT_EQ(verdict["verdict"], "none");
    EXPECT_EQ(verdict["why_nothing_applied"], why);
    const Outcome text = verify({"--apply", "lossless"}, {option});
    EXPECT_NE(text.out.find("No verdict: nothing was rewritten: " + why + ". The runs are the same in 2 steps"),
              std::string::npos)
        << text.out;
    EXPECT_EQ(text.out.find("dentical"), std::string::npos);
  }
  write_file(folder_ / "plan.json",
             R"({"tapelens_plan": 1, "sites": [{"rewrite": "wide-save", "source": "other.py:9"}]})");
  EXPECT_EQ(json({"--apply", "plan.json"}, {}, 5)["why_nothing_applied"],
            "no operator is at a site of the plan, with a storage of at least 64.0 KiB");
}

TEST_F(Verify, ADiskThatIsFullIsTheReasonThatIsSaid) {
  const Outcome outcome = verify({"--apply", "lossless"}, {"--no-room"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("nothing was compared: a.spool: cannot be written: No space left on device"),
            std::string::npos)
      << outcome.err;
}

class VerifyPatch : public Verify {
 protected:
  void SetUp() override {
    write_file(folder_ / "say.sh", "echo \"in $PWD\"; echo kept\nexec \"$@\"\n");
    write_file(folder_ / "new.patch",
               "--- a/say.sh\n+++ b/say.sh\n@@ -1,2 +1,2 @@\n-echo \"in $PWD\"; echo kept\n"
               "+echo \"in $PWD\"; echo kept # the same\n exec \"$@\"\n");
    write_file(folder_ / "other.patch",
               "--- a/say.sh\n+++ b/say.sh\n@@ -1,2 +1,2 @@\n-echo \"in $PWD\"; echo kept\n"
               "+echo \"in $PWD\"; echo other\n exec \"$@\"\n");
  }
  Outcome patched(const Words& options, const Words& arguments) {
    Words words = {TAPELENS_TEST_TREE "/bin/tapelens", "verify"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "say.sh", TAPELENS_TEST_TRAINER});
    words.insert(words.end(), arguments.begin(), arguments.end());
    Setting setting;
    setting.folder = folder_.path();
    return run(words, setting);
  }
};

TEST_F(VerifyPatch, OfAProgramWithoutGradientsTheOutputIsCompared) {
  const Words inference = {"--checksums", "none", "--no-steps", "--no-losses"};
  const std::string here = std::filesystem::canonical(folder_.path()).string();
  const Outcome same = patched({"--patch", "new.patch"}, inference);
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_TRUE(same.out.starts_with("in " + here +
                                   "\nkept\nout\nThe same output, byte for byte, and the same exit code: "
                                   "3 lines. The runs had no gradient and no parameter to compare."))
      << same.out;
  EXPECT_NE(same.out.find("\n  peak "), std::string::npos) << same.out;
  const Outcome differs = patched({"--patch", "other.patch"}, inference);
  EXPECT_EQ(differs.exit_code, 1) << differs.out << differs.err;
  EXPECT_NE(differs.out.find("Different: first the line 2 of the output (\"kept\" bare, \"other\" patched). It comes "
                             "from the patch."),
            std::string::npos)
      << differs.out;
}

TEST_F(VerifyPatch, OfAProgramWithGradientsTheOutputMayBeAnother) {
  EXPECT_EQ(patched({"--patch", "other.patch"}, {}).exit_code, 0);
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
                                                            {{"--apply", "no.json"}, "no.json"}};
  for (const auto& [options, says] : wrong) {
    const Outcome outcome = verify(options);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace tapelens::test
