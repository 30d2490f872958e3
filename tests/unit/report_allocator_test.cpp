// The report on a device's allocator, in every format.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/json.h"
#include "tests/unit/support/golden.h"
#include "tests/unit/support/sample_advice.h"
#include "tests/unit/support/schema.h"

namespace tapelens::report {

using text::Style;

namespace {

Bytes mib(int64_t count) { return Bytes{count << 20}; }

Report sample() {
  Report r;
  r.recording.file = "run.tapelens";
  r.recording.command = "python train.py";
  ProcessFacts process;
  process.pid = 101;
  r.processes.push_back(process);
  r.peak.pid = 101;
  r.peak.device = "cuda:0";
  r.advice = testing::sample_advice();
  advise::AllocatorAdvice& a = r.advice->allocator.emplace();
  a.settings = "max_split_size_mb:64";
  a.compared = 1000;
  a.card = mib(2000);
  a.reserved_before = mib(1500);
  a.reserved_after_all = mib(1300);
  a.tried = {{"max_split_size_mb:64,expandable_segments:True", mib(1100), true},
             {"max_split_size_mb:128", mib(1500), true}};
  advise::Fits& fits = a.fits.emplace();
  fits.card = mib(1200);
  fits.failed = {Time{3'000'000}, mib(40), mib(1180)};
  fits.ways = {{{}, "max_split_size_mb:64,expandable_segments:True", mib(1100), ""},
               {{0, 2, 1}, "", mib(1150), ""},
               {{}, "", mib(1160), "--apply lossless"},
               {{3}, "max_split_size_mb:128", mib(1170), ""}};
  fits.ends_out_of_memory = true;
  fits.steps_before = 2;
  return r;
}

std::string text_of(const Report& r) {
  Style style;
  style.rows = 0;
  return advice_text(r, style);
}

TEST(AllocatorReport, Text) { testing::expect_golden("advise_allocator.txt", text_of(sample())); }

TEST(AllocatorReport, TextWhereTheReplayDiffers) {
  Report r = sample();
  advise::AllocatorAdvice differs;
  differs.differs = "a block lies elsewhere";
  differs.reserved_before = mib(1500);
  r.advice->allocator = differs;
  testing::expect_golden("advise_allocator_differs.txt", text_of(r));
}

TEST(AllocatorReport, JsonIsWhatItsSchemaSays) {
  const nlohmann::json all = nlohmann::json::parse(advice_json(sample()));
  const auto schema =
      nlohmann::json::parse(testing::file_text(std::string(TAPELENS_GOLDEN_DIR) + "/../../docs/report.schema.json"));
  EXPECT_EQ(testing::against_schema(schema, schema["$defs"]["advise"], all, "$"), "");
  const nlohmann::json& allocator = all["advice"]["allocator"];
  EXPECT_EQ(allocator["fits"]["ways"].size(), 4u);
  EXPECT_EQ(allocator["fits"]["ways"][2]["commands"],
            nlohmann::json::array({"tapelens run --apply lossless -- python train.py"}));
  EXPECT_EQ(allocator["fits"]["whole_run_commands"].size(), 2u);
  EXPECT_EQ(allocator["fits"]["whole_steps_before"], 2);
  EXPECT_EQ(allocator["fits"]["run_fit_command"], "tapelens run --fit 1200MiB -- python train.py");
  EXPECT_EQ(allocator["fits"]["ways"][1]["findings"].size(), 3u);
  EXPECT_TRUE(allocator["fits"]["ways"][1]["settings"].is_null());
  EXPECT_EQ(allocator["reserved_peak_after_all_bytes"], mib(1300).value);
  EXPECT_TRUE(allocator["replay_differs"].is_null());
}

TEST(AllocatorReport, MarkdownNamesTheSettingThatIsWorthIt) {
  EXPECT_NE(
      advice_markdown(sample(), 0).find("`PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True`"),
      std::string::npos);
}

TEST(AllocatorReport, MarkdownNamesWhatMakesItFit) {
  const std::string markdown = advice_markdown(sample(), 0);
  for (const char* words : {"- --apply lossless: 1.1 GiB reserved at most, as predicted; `tapelens run --apply "
                            "lossless -- python train.py`",
                            "- findings 1, 2 and 3 fixed", "2 steps were complete before it",
                            "`tapelens advise whole.tapelens --fits 1200MiB`",
                            "same bits: `tapelens run --fit 1200MiB -- python train.py`"}) {
    EXPECT_NE(markdown.find(words), std::string::npos) << words << "\n" << markdown;
  }
}

TEST(AllocatorReport, TheCommandThatMakesItFitIsNamedOnlyIfItMayBeEnough) {
  const auto has_command = [](const Report& r) { return text_of(r).find("tapelens run --fit ") != std::string::npos; };
  Report r = sample();
  EXPECT_TRUE(has_command(r));
  r.peak.by_category = {{peak::HolderKind::parameter, mib(700), 1}, {peak::HolderKind::gradient, mib(501), 1}};
  EXPECT_FALSE(has_command(r)) << "parameters and gradients are more";
  r.peak.by_category = {{peak::HolderKind::parameter, mib(700), 1}, {peak::HolderKind::save, mib(501), 1}};
  EXPECT_TRUE(has_command(r));
  r.advice->allocator->fits->card = Bytes{1'000'000'001};
  EXPECT_NE(text_of(r).find("tapelens run --fit 1000000001 -- python train.py"), std::string::npos);
  r.recording.command.clear();
  EXPECT_FALSE(has_command(r));
  r = sample();
  r.advice->allocator->fits->failed.reset();
  EXPECT_FALSE(has_command(r)) << "it fits";
}

}  // namespace
}  // namespace tapelens::report
