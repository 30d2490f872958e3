// Reports of recordings without their older steps: step numbers, peaks, findings, and the notice about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"
#include "analyzer/text/format.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/golden.h"
#include "tests/unit/support/schema.h"
#include "trace/ring.h"

namespace tapelens::report {
namespace {

using trace::Role;
using trace::SpoolBuilder;

constexpr uint64_t kMiB = 1 << 20;

// Steps of a GAN. The discriminator's optimizer steps first and ends each step. The generator's optimizer ends none.
// The third step has the peak, and each step leaks a tensor.
run::Run recorded(uint64_t steps, uint64_t keep) {
  SpoolBuilder b;
  const uint32_t leak = b.stack({b.frame("train.py", 7, "train")});
  b.information("torch_version", "2.15.0").op("aten::empty").alloc(0x1000, 4 * kMiB).end_op();
  b.role(Role::parameter, "up.weight", 0x1000, 4 * kMiB);
  for (uint64_t step = 0; step < steps; ++step) {
    b.op("aten::mm", {0x1000}).alloc(0x2000, (step == 2 ? 64 : 8) * kMiB).end_op().backward().end_backward();
    b.op("aten::clone", {0x2000}, leak).alloc(0x10000 + step, kMiB).end_op();
    b.optimizer("discriminator").end_optimizer().optimizer("generator").end_optimizer().free(0x2000);
  }
  if (keep > 0) {
    const auto state = trace::leave_out_older_steps(b.path(), {.last = keep});
    EXPECT_TRUE(state && state->steps_left_out == steps - keep);
  }
  return b.seal();
}

Report report_of(const run::Run& recording, Options options = {}) {
  auto built = build(recording, options);
  if (!built) throw std::runtime_error(built.error().message);
  return std::move(*built);
}

TEST(ReportOfOlderSteps, StepsHaveTheirNumbersAndAreAsInTheWhole) {
  const run::Run whole = recorded(20, 0), last = recorded(20, 4);
  const Report all = report_of(whole), few = report_of(last);
  ASSERT_EQ(few.steps.size(), all.steps.size() - 16);
  for (size_t i = 0; i < few.steps.size(); ++i) {
    const Step &a = all.steps[i + 16], &b = few.steps[i];
    EXPECT_EQ(b.index, i + 16);
    EXPECT_EQ(std::tuple(a.begin, a.end, a.peak, a.allocations, a.allocated, a.complete),
              std::tuple(b.begin, b.end, b.peak, b.allocations, b.allocated, b.complete));
  }
  EXPECT_EQ(few.recording.steps, "16:");
}

TEST(ReportOfOlderSteps, ThePeakIsOneOfTheStepsThatAreThere) {
  const run::Run last = recorded(20, 4);
  const Report r = report_of(last);
  EXPECT_EQ(r.peak.step, 19U);
  EXPECT_EQ(r.peak.bytes.value, static_cast<int64_t>((4 + 20 + 8) * kMiB));
  Options at_step;
  at_step.at = *parse_at("step:17");
  EXPECT_EQ(report_of(last, at_step).peak.step, 17U);
  at_step.at = *parse_at("step:15");
  const auto none = build(last, at_step);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "step 15 is not in the recording, which has 4 steps, --at step:16 to step:19");
}

TEST(ReportOfOlderSteps, WhatWasMadeInThemIsSaidToBeOlder) {
  const Report r = report_of(recorded(20, 4));
  const auto older = std::ranges::count(r.peak.allocations, 15U, &Allocation::step);
  EXPECT_EQ(older, 17) << "16 that were left behind, and the parameter";
  const std::string said = text(r, {.width = 120, .rows = 40});
  EXPECT_NE(said.find("since before step 16\n"), std::string::npos) << said;
  EXPECT_NE(said.find(", of steps 16 to 19"), std::string::npos) << said;
}

TEST(ReportOfOlderSteps, WhereThePeakWasAmongThemIsSaidAndIsNoLoss) {
  const Report r = report_of(recorded(20, 4));
  ASSERT_EQ(r.recording.lost.size(), 1U);
  const Lost& lost = r.recording.lost.front();
  EXPECT_EQ(
      lost.what,
      "steps 0 to 15 were left out (tapelens record --last); allocations that were alive after them are named; cpu "
      "had more in the omitted steps than since: 71.0 MiB, in step 2");
  EXPECT_EQ(lost.count, 16U);
  EXPECT_TRUE(r.recording.complete);
  EXPECT_EQ(report_of(recorded(3, 1)).recording.lost.front().what,
            "steps 0 to 1 were left out (tapelens record --last); allocations that were alive after them are named")
      << "the peak is in a kept step";
  const auto schema =
      nlohmann::json::parse(testing::file_text(std::string(TAPELENS_GOLDEN_DIR) + "/../../docs/report.schema.json"));
  const auto value = nlohmann::json::parse(json(r));
  EXPECT_EQ(
      testing::against_schema(schema, schema.at("properties").at("recording"), value.at("recording"), "recording"), "");
}

TEST(ReportOfOlderSteps, NoStepsAreLeftOutOfAWholeRecording) {
  const Report r = report_of(recorded(5, 0));
  EXPECT_TRUE(r.recording.lost.empty());
  EXPECT_EQ(r.recording.steps, "");
}

}  // namespace
}  // namespace tapelens::report
