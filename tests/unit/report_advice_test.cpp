// Output of `tapelens advise`: golden texts of one advice in every format, and invariants of the formats.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/fixes.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/json.h"
#include "analyzer/text/format.h"
#include "tests/unit/support/golden.h"
#include "tests/unit/support/sample_advice.h"
#include "tests/unit/support/schema.h"

namespace tapelens::report {

using text::columns;
using text::Style;

namespace {

using nlohmann::json;
using testing::expect_golden;
using testing::file_text;

Report sample() {
  Report r;
  r.recording.file = "run.tapelens";
  r.recording.command = "python train.py";
  r.recording.torch_version = "2.15.0";
  ProcessFacts process;
  process.pid = 101;
  r.processes.push_back(process);
  r.peak.pid = 101;
  r.peak.device = "cpu";
  r.peak.bytes = Bytes{9 << 20};
  r.advice = testing::sample_advice();
  return r;
}

Style style_of(unsigned width) {
  Style style;
  style.width = width;
  style.rows = SIZE_MAX;
  return style;
}

json sarif_of(const Report& r, const check::SourceTree& tree = {"/home/me", "/home/me"}) {
  const std::vector<Rule> rules = {
      {"duplicate-save", "the same twice", "help", ""},
      {"unneeded-save", "saved tensors that no gradient needs", "What it finds.", "# unneeded-save\n\nA page.\n"}};
  return json::parse(sarif(r, rules, tree, "0.1.0"));
}

TEST(Advice, Text) { expect_golden("advise.txt", advice_text(sample(), style_of(100))); }
TEST(Advice, TextInANarrowTerminal) { expect_golden("advise_narrow.txt", advice_text(sample(), style_of(60))); }
TEST(Advice, Markdown) { expect_golden("advise.md", advice_markdown(sample(), SIZE_MAX)); }
TEST(Advice, Json) { expect_golden("advise.json", advice_json(sample())); }
TEST(Advice, Sarif) { expect_golden("advise.sarif", sarif_of(sample()).dump(2) + "\n"); }
TEST(Advice, Plan) { expect_golden("plan.json", plan(sample())); }

TEST(Report, WhatWasAliveHasTheLibrarysLineBesideTheUsers) {
  Report r = sample();
  r.advice.reset();
  r.peak.by_category = {{peak::HolderKind::save, Bytes{8 << 20}, 3}, {peak::HolderKind::op, Bytes{1 << 19}, 1}};
  advise::Remaining save{peak::HolderKind::save, Bytes{8 << 20}, 3, "GeluBackward0.self", Bytes{4 << 20}, "Bert", {}};
  save.source = {"/home/me/hf.py", "<module>", 23};
  save.library = {"/venv/lib/python3.12/site-packages/transformers/modeling_bert.py", "forward", 335};
  advise::Remaining temporary = save;
  temporary.kind = peak::HolderKind::op;
  r.peak.held_by = {save, temporary};
  const std::string shown = text(r, style_of(100));
  const std::string lines = "hf.py:23 calls modeling_bert.py:335\n";
  EXPECT_NE(shown.find(lines), std::string::npos) << shown;
  EXPECT_EQ(shown.find(lines), shown.rfind(lines)) << "of a small category, too: " << shown;
  EXPECT_EQ(
      remaining_text(save),
      "saved for backward: 4.0 MiB of it GeluBackward0.self in Bert, hf.py:23 <module> (calls modeling_bert.py:335 "
      "forward)");
  r.peak.held_by[0].library = {};
  EXPECT_EQ(text(r, style_of(100)).find(" calls "), std::string::npos);
}

TEST(Advice, ThatFoundNothingSaysWhatWasChecked) {
  Report r = sample();
  r.advice->findings.clear();
  r.advice->entries.clear();
  r.advice->refused.clear();
  r.advice->peak_after_all = r.advice->peak_before;
  expect_golden("advise_nothing.txt", advice_text(r, style_of(100)));
  EXPECT_NE(advice_markdown(r, SIZE_MAX).find("No findings, of 4 checks."), std::string::npos)
      << advice_markdown(r, SIZE_MAX);
}

TEST(Advice, WhatIsLeftOutIsCounted) {
  Style style = style_of(100);
  style.rows = 1;
  EXPECT_NE(advice_text(sample(), style)
                .find("\nand 2 more entries; entry 3, which lowers the peak by less than 1 %, or not at all: --all\n"),
            std::string::npos);
  EXPECT_NE(advice_markdown(sample(), 3).find("\nand 1 finding more\n"), std::string::npos);
}

TEST(Advice, OneEntryIsSaidWithAllOfItsEvidence) {
  const std::string text = advice_text(sample(), style_of(100), {false, 2});
  EXPECT_TRUE(text.starts_with(" 2 -22 %  1 group of saved tensors")) << text;
  for (const char* words : {"The table of needs, 212 samples", "float32 [8, 8, 64, 16]", "+ 5 other shapes or holders",
                            "00c0ffee00c0ffee", "tapelens run --apply lossless -- python train.py"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  EXPECT_EQ(text.find("batches that live on"), std::string::npos) << text;
}

TEST(Advice, AllOfItHasWhatDoesNotLowerThePeakToo) {
  const std::string text = advice_text(sample(), style_of(100), {true, 0});
  for (const char* id : {"0123456789abcdef", "00c0ffee00c0ffee", "1111111111111111", "2222222222222222"}) {
    EXPECT_NE(text.find(id), std::string::npos) << id << "\n" << text;
  }
}

TEST(Advice, ThatMovesThePeakTooLittleToShowSaysByHowManyBytes) {
  advise::Finding finding;
  finding.peak_before = Bytes{100 << 20};
  finding.peak_after = finding.peak_before - Bytes{24};
  EXPECT_EQ(effect_text(finding), "peak 24 B lower without it");
  finding.peak_after = finding.peak_before;
  EXPECT_EQ(effect_text(finding), "does not move the peak");
  finding.peak_after = Bytes{101 << 20};
  EXPECT_EQ(effect_text(finding), "alone it would raise the peak to 101.0 MiB");
}

TEST(Advice, NoLineIsWiderThanTheTerminal) {
  for (const unsigned width : {60U, 80U, 100U, 160U}) {
    std::istringstream lines(advice_text(sample(), style_of(width)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), width) << line;
  }
}

TEST(Advice, JsonFollowsItsSchema) {
  const json schema = json::parse(file_text(std::string(TAPELENS_GOLDEN_DIR) + "/../../docs/report.schema.json"));
  const json value = json::parse(advice_json(sample()));
  EXPECT_EQ(testing::against_schema(schema, schema["$defs"]["advise"], value, "$"), "");
  json broken = value;
  broken["findings"][0]["fix"].erase("text");
  EXPECT_NE(testing::against_schema(schema, schema["$defs"]["advise"], broken, "$"), "");
}

TEST(Plan, HoldsWhatARewriteMendsAndNothingElse) {
  const json value = json::parse(plan(sample()));
  ASSERT_EQ(value["sites"].size(), 1u);
  EXPECT_EQ(value["sites"][0]["finding"], "00c0ffee00c0ffee");
  EXPECT_EQ(value["sites"][0]["enabled"], true);
}

TEST(Sarif, NamesFilesAsTheRepositoryDoes) {
  const json results = sarif_of(sample())["runs"][0]["results"];
  ASSERT_EQ(results.size(), 4u);
  const json place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "net/layers.py");
  EXPECT_EQ(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
  EXPECT_EQ(place["region"]["startLine"], 12);
  // A finding about the whole run is located at the program: the outermost file of the repository.
  EXPECT_EQ(results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "train%20one.py");
}

TEST(Sarif, SkipsFramesThatAreNotOfTheRepository) {
  Report r = sample();
  advise::Finding& f = r.advice->findings[0];
  f.source = {"/home/other/layers.py", "forward", 3};
  f.stack = {{"/home/me/.venv/lib/python3.12/site-packages/torch/nn/conv.py", "forward", 9},
             {"<frozen runpy>", "run", 1},
             {"scripts/../train.py", "main", 7}};
  const json place = sarif_of(r, {"/home/me", "/home/me/work"})["runs"][0]["results"][0]["locations"][0];
  EXPECT_EQ(place["physicalLocation"]["artifactLocation"]["uri"], "work/train.py");
  EXPECT_EQ(place["physicalLocation"]["region"]["startLine"], 7);
}

TEST(Sarif, WhatHasNoPlaceInTheRepositoryIsANotification) {
  const json run = sarif_of(sample(), {"/elsewhere", "/elsewhere"})["runs"][0];
  EXPECT_TRUE(run["results"].empty());
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"].size(), 5u);  // four findings, one refused check
}

TEST(Sarif, LevelsAndRulesAreThoseOfTheChecks) {
  const json run = sarif_of(sample())["runs"][0];
  EXPECT_EQ(run["results"][0]["level"], "note");
  EXPECT_EQ(run["results"][1]["level"], "warning");
  EXPECT_EQ(run["results"][1]["ruleIndex"], 1);
  EXPECT_EQ(run["tool"]["driver"]["rules"][1]["help"]["markdown"], "# unneeded-save\n\nA page.\n");
  EXPECT_EQ(run["results"][1]["partialFingerprints"]["primaryLocationLineHash"], "00c0ffee00c0ffee:1");
}

}  // namespace
}  // namespace tapelens::report
