// Reads the results of a run with an activation memory budget from synthetic spools.
#include <gtest/gtest.h>

#include "analyzer/experiment/measurement.h"
#include "testing/trace_builder.h"

namespace tapelens::experiment {
namespace {

using trace::SpoolBuilder;
using trace::TestFolder;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kWeight = 0x1000, kInput = 0x2000, kResult = 0x3000, kEager = 0x4000, kNode = 0x50, kOther = 0x60;

Measurement read(const TestFolder& folder) {
  trace::seal_folder(folder);
  const auto measured = read_recording(folder / "run.tapelens");
  EXPECT_TRUE(measured);
  return *measured;
}

// Steps of a compiled graph that keeps its weight, `mebibytes` twice and 1 MiB, beside a node of an eager operator.
// They begin at `times` (ns) except the last time, which ends the last step.
void train(SpoolBuilder& spool, uint64_t mebibytes, const std::vector<uint64_t>& times,
           std::string_view device = "cpu") {
  spool.op("aten::empty").alloc(kWeight, 8 * kMiB, device).end_op();
  spool.role(trace::Role::parameter, "weight", kWeight, 8 * kMiB);
  for (size_t step = 0; step + 1 < times.size(); ++step) {
    spool.at(times[step] + 10).op("CompiledFunction").alloc(kInput, kMiB, device);
    spool.alloc(kResult, mebibytes * kMiB, device).alloc(kEager, 4 * kMiB, device);
    spool.node("CompiledFunctionBackward", kNode).node("ReluBackward0", kOther).end_op();
    spool.save(kNode, "saved_tensors", kWeight, 8 * kMiB).save(kNode, "saved_tensors", kInput, kMiB);
    for (int i = 0; i < 2; ++i) spool.save(kNode, "saved_tensors", kResult, mebibytes * kMiB);
    spool.save(kOther, "result", kEager, 4 * kMiB);
    spool.backward().evaluate(kNode).end_evaluation().evaluate(kOther).end_evaluation().end_backward();
    spool.node_dies(kNode).node_dies(kOther);
    spool.free(kInput, device).free(kResult, device).free(kEager, device);
    spool.optimizer("Adam").at(times[step + 1]).end_optimizer();
  }
}

TEST(BudgetReading, WhatCompiledGraphsKeepIsOfDistinctStoragesWithoutParameters) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  spool.information("activation_budget", "0.4").information("activation_budget_of_graph", "0.4");
  spool.information("activation_budget_of_graph", "1.0");
  train(spool, 16, {0, 900'000, 1'000'000, 1'300'000, 1'420'000});
  spool.finish();
  const Measurement measured = read(folder);
  EXPECT_TRUE(measured.is_compiled);
  EXPECT_TRUE(measured.is_set);
  EXPECT_EQ(measured.in_effect, (std::vector<double>{0.4, 1.0}));
  EXPECT_EQ(measured.kept, (Kept{.graphs = 1, .saves = 3, .bytes = {17 * int64_t{kMiB}}}));
  EXPECT_EQ(measured.device, "cpu");
  EXPECT_EQ(measured.peak.value, 29 * int64_t{kMiB});
  EXPECT_EQ(measured.peak_step, 0U);
  EXPECT_EQ(measured.later_peak, measured.peak);
  EXPECT_EQ(measured.steps, 4U);
  // The median of 100, 300 and 120 us. The first step does not count.
  EXPECT_EQ(measured.step_ns, 120'000);
  EXPECT_EQ(measured.least_step_ns, 100'000);
  EXPECT_EQ(measured.most_step_ns, 300'000);
  EXPECT_EQ(measured.why_not_set + measured.full + measured.left_out, "");
}

TEST(BudgetReading, AProgramThatCompilesNothingIsSeen) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  spool.information("activation_budget", "1");
  spool.op("aten::relu").alloc(0x1000, 64).node("ReluBackward0", kNode).end_op();
  spool.optimizer("Adam").end_optimizer().finish();
  const Measurement measured = read(folder);
  EXPECT_FALSE(measured.is_compiled);
  EXPECT_EQ(measured.kept, Kept());
  EXPECT_EQ(measured.step_ns, 0);
  EXPECT_EQ(measured.steps, 1U);
}

TEST(BudgetReading, EveryProcessThatCompilesMustHaveTheBudget) {
  const TestFolder folder;
  SpoolBuilder first(folder, "1.spool"), second(folder, "2.spool");
  first.information("activation_budget", "0.4");
  train(first, 16, {0, 1000, 2000});
  train(second, 32, {0, 1000, 2000});
  first.finish();
  second.finish();
  const Measurement measured = read(folder);
  EXPECT_FALSE(measured.is_set);
  EXPECT_EQ(measured.kept.bytes.value, 33 * int64_t{kMiB}) << "the process with the higher peak";
}

TEST(BudgetReading, AGpuCountsBeforeTheHostAndASimulatedOneHasNoTime) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  spool.information("activation_budget", "0.4").information("simulated_gpu", "1 x NVIDIA H100");
  spool.op("aten::empty").block(0x10000000, kMiB, kMiB).end_op();
  train(spool, 16, {10'000, 20'000, 30'000, 40'000});
  spool.finish();
  const Measurement measured = read(folder);
  EXPECT_EQ(measured.device, "cuda:0");
  EXPECT_EQ(measured.peak.value, int64_t{kMiB});
  EXPECT_TRUE(measured.is_simulated);
  EXPECT_EQ(measured.step_ns, 0);
  EXPECT_EQ(measured.steps, 3U);
}

TEST(BudgetReading, WhyABudgetCannotBeSetAndWhyARunEndedIsSaid) {
  const TestFolder folder;
  SpoolBuilder spool(folder, "1.spool");
  spool.information("activation_budget_failed", "KeyError: 'activation_memory_budget'");
  spool.op("aten::mm").block(0x10000000, kMiB, kMiB).out_of_memory(512 * kMiB, 0, 80 * kMiB).end_op();
  spool.finish();
  const Measurement measured = read(folder);
  EXPECT_EQ(measured.why_not_set, "KeyError: 'activation_memory_budget'");
  EXPECT_EQ(measured.full, "cuda:0 had no room for 512.0 MiB, aten::mm");
}

}  // namespace
}  // namespace tapelens::experiment
