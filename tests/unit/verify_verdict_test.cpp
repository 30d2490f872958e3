// The verdict as JSON in both directions, refused input, and the verdict's sentences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/verify/verdict.h"
#include "analyzer/verify/verdict_text.h"

namespace tapelens::verify {
namespace {

using Kind = Difference::Kind;

// A verdict with a value in every member.
Verdict full() {
  Verdict v;
  Difference d;
  d.kind = Kind::gradient;
  d.rank = 3;
  d.step = 2;
  d.name = "layer1.0.weight";
  d.bare = "00ff";
  d.rewritten = "00fe";
  d.rewrite = "wide-save";
  d.site.emplace();
  d.site->rewrite = "wide-save";
  d.site->module = "Net.layer*.conv1";
  d.site->op = "aten::relu";
  d.site->node = "ReluBackward0";
  d.site->field = "result";
  d.site->file = "a:b.py";
  d.site->line = 4294967295;
  v.difference = d;
  v.rounding = Rounding{"", {{"w", 5e-7, 1.0 / 3, 0}, {"b\n\"\\ \u00fc", 1e-300, -0.0, 7}}, 2};
  v.compared = {3, 4, 1200, 6, 7, 8};
  v.bare = {0,
            Bytes{10 << 20},
            Bytes{9 << 20},
            Bytes{8 << 20},
            StepTimes{2'000'000, 1'900'000, 2'100'000, 9},
            {0.5, 0.1, -1e300},
            {0, 255, UINT64_MAX}};
  v.rewritten = {70, Bytes{INT64_MAX}, Bytes{1}, Bytes{0}, std::nullopt, {}, {}};
  v.applied = {{"wide-save", 1, 2, 3, Bytes{400}, Bytes{50}}, {"mine", 9, 0, 0, Bytes{0}, Bytes{0}}};
  v.skipped = {{"late-gradient", "the gradients are clipped", 1, Bytes{4096}}};
  return v;
}

Verdict read(const std::string& json) {
  auto verdict = read_verdict(json, "v.json");
  if (!verdict) throw std::runtime_error(verdict.error().message);
  return *verdict;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(VerdictJson, WhatIsWrittenIsReadAsTheSame) {
  EXPECT_EQ(read(verdict_json(full())), full());

  Verdict identical = full();
  identical.difference.reset();
  identical.rounding.reset();
  EXPECT_EQ(read(verdict_json(identical)), identical);
  EXPECT_EQ(identical.answer(), Answer::identical);

  Verdict uncompared = identical;
  uncompared.compared.gradients = uncompared.compared.parameters = 0;
  EXPECT_EQ(read(verdict_json(uncompared)), uncompared);
  EXPECT_EQ(uncompared.answer(), Answer::none);

  Verdict by_itself = full();
  by_itself.is_deterministic = false;
  by_itself.rounding.reset();
  by_itself.difference = Difference{Kind::loss, -1, 0, "", "0.1", "", "", {}};
  EXPECT_EQ(read(verdict_json(by_itself)), by_itself);
  EXPECT_EQ(by_itself.answer(), Answer::none);

  for (const Kind kind : {Kind::loss, Kind::gradient, Kind::parameter, Kind::exit_code}) {
    Verdict one = identical;
    one.difference = Difference{kind, -1, 0, "", "0", "70", "", policy::Site{}};
    EXPECT_EQ(read(verdict_json(one)), one) << kind_name(kind);
  }
}

TEST(VerdictJson, WhatIsNoFiniteNumberIsNone) {
  Verdict v = full();
  v.bare.loss = {std::numeric_limits<double>::infinity(), std::nan("")};
  v.rounding->gradients = {{"w", std::nan(""), 1, 2}};
  v.rewritten.step = StepTimes{-5, -6, -4, 7};  // the checksums take longer than the step
  const Verdict again = read(verdict_json(v));
  ASSERT_EQ(again.bare.loss.size(), 2U);
  EXPECT_TRUE(std::isnan(again.bare.loss[0]) && std::isnan(again.bare.loss[1]));
  EXPECT_TRUE(std::isnan(again.rounding->gradients.at(0).difference));
  EXPECT_EQ(again.rewritten.step, v.rewritten.step);
  EXPECT_EQ(verdict_json(again), verdict_json(v));
}

// Bare steps take 1.0 ms; the quartiles are `spread` ns from the medians.
Verdict timed(int64_t median, int64_t spread, uint64_t steps) {
  Verdict v = full();
  v.bare.step = StepTimes{1'000'000, 1'000'000 - spread, 1'000'000 + spread, 20};
  v.rewritten.step = StepTimes{median, median - spread, median + spread, steps};
  return v;
}

TEST(StepTime, ARatioHasItsSpread) {
  const Verdict slower = timed(1'500'000, 50'000, 20);
  EXPECT_EQ(time_ratio_text(slower), "x1.50 (x1.38 to x1.63)");
  EXPECT_NE(verdict_text(slower, "").find(" x1.50 (x1.38 to x1.63)\n"), std::string::npos) << verdict_text(slower, "");
  const auto json = nlohmann::json::parse(verdict_json(slower));
  EXPECT_EQ(json["step_time"]["is_measurable"], true);
  EXPECT_DOUBLE_EQ(json["step_time"]["ratio"], 1.5);
  EXPECT_DOUBLE_EQ(json["step_time"]["low"], 1.45 / 1.05);
  EXPECT_EQ(json["rewritten"]["timed_steps"], 20);
  EXPECT_TRUE(time_ratio(timed(600'000, 50'000, 20))->is_measurable());
}

TEST(StepTime, ADifferenceBelowTheSpreadIsNotMeasurable) {
  const Verdict same = timed(1'050'000, 50'000, 20);
  EXPECT_EQ(time_ratio_text(same), "not measurable (x0.95 to x1.16)");
  EXPECT_EQ(nlohmann::json::parse(verdict_json(same))["step_time"]["is_measurable"], false);
}

TEST(StepTime, FewStepsAreNotMeasurable) {
  EXPECT_EQ(time_ratio_text(timed(3'000'000, 0, 4)), "not measurable (4 steps)");
  EXPECT_EQ(time_ratio_text(timed(3'000'000, 0, 1)), "not measurable (1 step)");
  EXPECT_EQ(time_ratio_text(timed(3'000'000, 0, 5)), "x3.00 (x3.00 to x3.00)");
}

TEST(StepTime, WithoutTimesThereIsNoRatio) {
  Verdict v = timed(1, 0, 20);
  v.bare.step.reset();
  EXPECT_EQ(time_ratio_text(v), "");
  EXPECT_TRUE(nlohmann::json::parse(verdict_json(v))["step_time"].is_null());
  v = timed(-5, 0, 20);  // the checksums take longer than the step
  EXPECT_EQ(time_ratio_text(v), "");
}

TEST(StepTime, OfAnOlderVersionsVerdictHasNoSpread) {
  auto json = nlohmann::ordered_json::parse(verdict_json(timed(3'000'000, 0, 20)));
  for (const char* run : {"bare", "rewritten"}) {
    for (const char* key : {"step_low_ns", "step_high_ns", "timed_steps"}) json[run].erase(key);
  }
  json.erase("step_time");
  EXPECT_EQ(time_ratio_text(read(json.dump())), "not measurable (0 steps)");
}

TEST(VerdictJson, WhatIsNoVerdictIsOneSentence) {
  for (const char* text : {"", "{", "[]", "3", "null", "\"identical\"", "{\"identical\": true}", "{} {}"}) {
    const auto verdict = read_verdict(text, "v.json");
    ASSERT_FALSE(verdict) << text;
    EXPECT_EQ(verdict.error().message, "v.json is not a result of tapelens verify --format json.");
    EXPECT_EQ(verdict.error().kind, trace::ErrorKind::unreadable);
  }
}

TEST(VerdictJson, OfWholeNumbersNothingElseIsOne) {
  const std::string json = verdict_json(full());
  for (const char* number : {"-1", "1.5", "1.0", "1e49", "1e2", "9223372036854775808", "99999999999999999999999",
                             "true", "\"1\"", "null", "[]"}) {
    for (const char* key : {"\"steps\": 3", "\"step\": 2", "\"exit_code\": 0", "\"peak_bytes\": 10485760",
                            "\"left_out\": 2", "\"level\": 1", "\"kept_bytes\": 50", "\"losses\": 4"}) {
      const std::string name = std::string(key).substr(0, std::string(key).find(' ') + 1);
      EXPECT_FALSE(read_verdict(replaced(json, key, name + number), "v.json")) << name << number;
    }
  }
  EXPECT_FALSE(read_verdict(replaced(json, "\"rank\": 3", "\"rank\": 2147483648"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "\"level\": 1", "\"level\": 2147483648"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "\"step_ns\": 2000000", "\"step_ns\": 1e49"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "\"step_ns\": 2000000", "\"step_ns\": 18446744073709551615"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "5e-07", "1e999"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "5e-07", "\"5e-07\""), "v.json"));
}

TEST(VerdictJson, EveryKeyHasToBeThere) {
  const std::string json = verdict_json(full());
  for (const char* key : {"verdict",
                          "identical",
                          "deterministic",
                          "first_difference",
                          "rounding",
                          "compared",
                          "not_compared",
                          "bare",
                          "rewritten",
                          "applied",
                          "skipped",
                          "kind",
                          "rank",
                          "parameter",
                          "site",
                          "source",
                          "unknown",
                          "bare_error",
                          "loss",
                          "gradient_checksum",
                          "saved_peak_bytes",
                          "last_step_peak_bytes",
                          "times",
                          "reason"}) {
    const std::string quoted = '"' + std::string(key) + "\": ";
    EXPECT_FALSE(read_verdict(replaced(json, quoted, "\"x\": "), "v.json")) << key;
  }
}

TEST(VerdictJson, AVerdictThatContradictsItselfIsNone) {
  const std::string json = verdict_json(full());
  EXPECT_FALSE(read_verdict(replaced(json, "\"verdict\": \"different\"", "\"verdict\": \"identical\""), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "\"identical\": false", "\"identical\": true"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "\"deterministic\": true", "\"deterministic\": false"), "v.json"));
  EXPECT_FALSE(read_verdict(replaced(json, "\"kind\": \"gradient\"", "\"kind\": \"buffer\""), "v.json"));
  for (const char* source : {"train.py", ":7", "train.py:", "train.py:-1", "train.py:4294967296", "train.py:7x"}) {
    EXPECT_FALSE(read_verdict(replaced(json, "a:b.py:4294967295", source), "v.json")) << source;
  }
  for (const char* checksum : {"ff", "00000000000000FF", "00000000000000fg", "000000000000000ff", "-0000000000000ff"}) {
    EXPECT_FALSE(read_verdict(replaced(json, "00000000000000ff", checksum), "v.json")) << checksum;
  }
}

TEST(VerdictText, SaysWhatDiffersFirstAndWhereItComesFrom) {
  Verdict v = full();
  v.rounding.reset();
  EXPECT_TRUE(verdict_text(v, "").starts_with(
      "Different: first the gradient of layer1.0.weight in step 2 of rank 3 (00ff bare, 00fe rewritten). It comes from "
      "wide-save ReluBackward0.result of aten::relu in Net.layer*.conv1, a:b.py:4294967295.\n\n"));
  v.difference->site.reset();
  EXPECT_EQ(origin_text(v), "It comes from wide-save, at no single site that could be found.");
  v.difference->rewrite.clear();
  EXPECT_EQ(origin_text(v), "No single rewrite was found that it comes from.");
  v.difference->rewritten.clear();
  EXPECT_EQ(values_text(v), "00ff bare, none rewritten");
}

Verdict of_a_patch() {
  Verdict v = full();
  v.rounding.reset();
  v.applied.clear();
  v.skipped.clear();
  v.difference->rewrite.clear();
  v.difference->site.reset();
  v.patch = Patch{{"src/a.py", "b.yaml"}, {"b.yaml"}, 1, 2};
  return v;
}

TEST(VerdictJson, OfAnOutputTheLineIsNamedAndOfNothingAppliedTheReason) {
  Verdict v = of_a_patch();
  v.compared = {};
  v.compared.output_lines = 12;
  v.difference = Difference{};
  v.difference->kind = Kind::output;
  v.difference->step = 7;
  v.difference->bare = "\"a\"";
  EXPECT_EQ(read(verdict_json(v)), v);
  EXPECT_EQ(where_text(*v.difference), "line 7 of the output");
  v = full();
  v.difference.reset();
  v.rounding.reset();
  v.applied.clear();
  v.why_nothing_applied = "each site was skipped";
  v.compared.returned_gradients = 9;
  EXPECT_EQ(v.answer(), Answer::none);
  EXPECT_EQ(read(verdict_json(v)), v);
  v.applied = full().applied;
  EXPECT_FALSE(read_verdict(verdict_json(v), "v.json")) << "something was applied";
}

TEST(VerdictJson, OfAPatchTheSecondRunIsThePatchedOne) {
  const std::string json = verdict_json(of_a_patch());
  EXPECT_EQ(read(json), of_a_patch());
  EXPECT_EQ(json.find("rewritten"), std::string::npos);
  EXPECT_FALSE(read_verdict(replaced(json, "\"patched\": \"00fe\"", "\"rewritten\": \"00fe\""), "v.json"));
  Verdict both = of_a_patch();
  both.applied = full().applied;
  EXPECT_FALSE(read_verdict(verdict_json(both), "v.json")) << "no rewrite is applied to a patched run";
}

TEST(VerdictText, OfAPatchIsInItsWords) {
  Verdict v = of_a_patch();
  v.compared.gradients_left_out = v.compared.parameters_left_out = 0;
  const std::string left_open =
      " 1 gradient of the bare run is not computed with the patch. 2 gradients of the patched run are not computed "
      "without it. No operator was called from the patched b.yaml: whether it ran is not known.";
  EXPECT_TRUE(
      verdict_text(v, "").starts_with("Different: first the gradient of layer1.0.weight in step 2 of rank 3 "
                                      "(00ff bare, 00fe patched). It comes from the patch." +
                                      left_open + "\n\n"));
  v.is_deterministic = false;
  EXPECT_NE(verdict_text(v, "").find("The patch cannot be verified;"), std::string::npos);
  v.is_deterministic = true;
  v.difference.reset();
  const std::string text = verdict_text(v, "");
  EXPECT_TRUE(
      text.starts_with("Identical, bit for bit, in 3 steps: 4 losses, 1,200 gradients, 6 parameters after "
                       "their step." +
                       left_open + "\n"))
      << text;
  EXPECT_TRUE(text.ends_with("\n\n  patched  src/a.py\n  patched  b.yaml\n")) << text;
  EXPECT_EQ(text.find("rewritten"), std::string::npos);
}

TEST(VerdictText, TheLastWordsAreThoseOfAnExitCode) {
  Verdict v = full();
  v.rounding.reset();
  EXPECT_EQ(verdict_text(v, "it crashed\n").find("it crashed"), std::string::npos);
  v.difference = Difference{Kind::exit_code, -1, 0, "", "0", "70", "", {}};
  EXPECT_TRUE(
      verdict_text(v, "it crashed\n")
          .starts_with("Different: first the exit code (0 bare, 70 rewritten). No single rewrite was found that "
                       "it comes from.\n\nLast output of the rewritten run:\nit crashed\n\n"));
}

TEST(VerdictText, RewritesThatAddInAnotherOrderAreNamed) {
  Verdict v = full();
  v.applied = {{"expanded-save", 3, 1, 1, Bytes{100}, Bytes{0}}, {"wide-save", 1, 1, 1, Bytes{50}, Bytes{2}}};
  EXPECT_TRUE(
      verdict_text(v, "").starts_with("Not the same bits: expanded-save adds in another order, and all else is "
                                      "identical. First the gradient of layer1.0.weight in step 2 of rank 3 "
                                      "differs.\n"));
  v.rounding = Rounding{"no gradient could be followed in float64", {}, 0};
  EXPECT_NE(
      verdict_text(v, "").find("How far they are apart is not known: no gradient could be followed in float64.\n"),
      std::string::npos);
}

}  // namespace
}  // namespace tapelens::verify
