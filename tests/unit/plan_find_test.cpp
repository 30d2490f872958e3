// The search for the rewrites of `run --fit` with synthetic runs: each test sets the memory of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/plan/plan.h"
#include "analyzer/plan/plan_text.h"

namespace tapelens::plan {
namespace {

using experiment::Outcome;

constexpr int64_t kGiB = int64_t{1} << 30;

// 20 GiB without rewrites, 16 lossless, 12 bitwise, and between 12 and 6 with a recompute budget of 5 % to 34 %.
// Offloading frees 2 more.
double gibibytes(const policy::RewriteSettings& settings) {
  if (!settings.allowed.empty()) return settings.level == "bitwise" ? 3.5 : 4;
  if (!settings.on) return 20;
  if (settings.level == "lossless") return 16;
  if (settings.level == "bitwise") return 12;
  return 12 - 6 * (settings.recompute_budget() - 0.05) / 0.29;
}

class Program final : public experiment::Runs {
 public:
  trace::Result<std::optional<experiment::Attempt>> run(const experiment::Variation& variation,
                                                        const std::string& progress) override {
    EXPECT_TRUE(names_.insert(variation.name).second) << "run twice: " << variation.name;
    EXPECT_EQ(variation.name.find(' '), std::string::npos);
    EXPECT_EQ(variation.gpu.empty(), !has_roomy);
    asked.push_back(progress);
    if (variation.gpu == "planned") small_runs.push_back(progress);
    if (asked.size() > interrupted_after) return std::optional<experiment::Attempt>();
    experiment::Attempt attempt;
    attempt.outcome = outcome(variation.rewrites);
    attempt.measured.uses_gpu = is_on_gpu;
    const Bytes bytes{static_cast<int64_t>(needs(variation.rewrites) * kGiB)};
    (is_on_gpu ? attempt.measured.reserved : attempt.measured.peak) = bytes;
    attempt.measured.allocated = Bytes{bytes.value / 100 * allocated_percent};
    if (device.value > 0 && variation.gpu != "roomy") {
      if ((is_on_gpu ? attempt.measured.allocated : bytes) > device) attempt.outcome = Outcome::out_of_memory;
      attempt.measured.reserved = std::min(attempt.measured.reserved, device);
    }
    return std::optional(attempt);
  }
  void tell(const std::string& result) override { told.push_back(result); }

  std::function<double(const policy::RewriteSettings&)> needs = gibibytes;
  std::function<Outcome(const policy::RewriteSettings&)> outcome = [](const auto&) { return Outcome::measured; };
  bool is_on_gpu = true;
  Bytes device{};  // 0: any request is served
  bool has_roomy = false;
  int64_t allocated_percent = 100;  // tensors, as a share of reserved memory
  size_t interrupted_after = 100;
  std::vector<std::string> asked, told, small_runs;

 private:
  std::set<std::string> names_;
};

Plan plan_for(Program& program, double size, std::optional<uint64_t> host_memory = {}) {
  const bool is_roomy = program.has_roomy;
  auto found = find(program, {.size = Bytes{static_cast<int64_t>(size * kGiB)},
                              .gpu = is_roomy ? "planned" : "",
                              .roomy = is_roomy ? "roomy" : "",
                              .host_memory = host_memory});
  EXPECT_TRUE(found);
  return found ? *found : Plan{};
}

std::string chosen(const Plan& plan) { return plan.chosen ? name_of(plan.tried[*plan.chosen].choice) : "none"; }

TEST(Plan, TheCheapestRewritesThatFitAreChosen) {
  const std::pair<double, const char*> cases[] = {
      {21, "as it is"}, {20, "as it is"}, {17, "lossless"}, {16, "lossless"}, {12.5, "bitwise"}};
  for (const auto& [size, expected] : cases) {
    Program program;
    const Plan plan = plan_for(program, size);
    EXPECT_EQ(chosen(plan), expected) << size;
    EXPECT_EQ(plan.stop, Stop::none);
  }
}

TEST(Plan, TheBudgetOfRecomputationIsTheSmallestOrFillsTheMemory) {
  for (double size = 6.1; size < 12; size += 0.3) {
    for (const bool is_on_gpu : {true, false}) {
      Program program;
      program.is_on_gpu = is_on_gpu;
      const Plan plan = plan_for(program, size);
      ASSERT_TRUE(plan.chosen) << size;
      const Tried& tried = plan.tried[*plan.chosen];
      EXPECT_EQ(tried.choice.level, "recompute");
      EXPECT_LE(tried.bytes.value, static_cast<int64_t>(size * kGiB));
      policy::RewriteSettings less = settings_of(tried.choice);
      less.budget = *less.budget - 0.01;
      const bool is_full = static_cast<double>(tried.bytes.value) >= 0.97 * size * kGiB;
      EXPECT_TRUE(is_full || gibibytes(less) > size) << "a smaller budget is enough";
      EXPECT_LE(plan.tried.size(), 5u) << "the memory is linear in the budget";
      EXPECT_EQ(program.told.size(), plan.tried.size());
    }
  }
}

TEST(Plan, LosslessIsNotRunIfBitwiseIsNotEnough) {
  Program program;
  EXPECT_EQ(chosen(plan_for(program, 11.9)).substr(0, 9), "recompute");
  EXPECT_EQ(std::ranges::count(program.asked, "bitwise"), 1);
  EXPECT_EQ(std::ranges::count(program.asked, "lossless"), 0);
}

TEST(Plan, ARequestThatFailsDoesNotFit) {
  Program program;
  program.device = Bytes{8 * kGiB};
  const Plan plan = plan_for(program, 8);
  ASSERT_TRUE(plan.chosen);
  EXPECT_LE(plan.tried[*plan.chosen].bytes, program.device);
  EXPECT_NE(plan_text(plan).find("as it is, it needs more than 8.0 GiB"), std::string::npos) << plan_text(plan);
}

TEST(Plan, OnARoomyDeviceEveryChoiceHasItsMemory) {
  Program program;
  program.has_roomy = true;
  program.device = Bytes{8 * kGiB};
  const Plan plan = plan_for(program, 8);
  ASSERT_TRUE(plan.chosen);
  EXPECT_LE(plan.tried[*plan.chosen].bytes, program.device);
  EXPECT_EQ(program.small_runs.size(), 0u);
  EXPECT_NE(plan_text(plan).find("as it is, it needs 20.0 GiB reserved"), std::string::npos) << plan_text(plan);
}

TEST(Plan, ACacheThatCanShrinkIsTriedOnTheSmallDevice) {
  Program program;
  program.has_roomy = true;
  program.allocated_percent = 90;
  program.device = Bytes{11 * kGiB};
  const Plan plan = plan_for(program, 11);
  EXPECT_EQ(chosen(plan), "bitwise");  // reserves 12 GiB for 10.8
  EXPECT_EQ(plan.tried[*plan.chosen].bytes, program.device);
  EXPECT_EQ(program.small_runs, (std::vector<std::string>{"bitwise"}));
}

TEST(Plan, MemoryThatIsNotLinearInTheBudgetTakesFewRuns) {
  Program program;
  program.has_roomy = true;
  program.needs = [](const policy::RewriteSettings& settings) {
    const double linear = gibibytes(settings);
    return settings.level == "recompute" && settings.recompute_budget() < 0.25 ? std::min(12.0, linear + 3) : linear;
  };
  for (double size = 6.1; size < 12; size += 0.1) {
    Program here = program;
    const Plan plan = plan_for(here, size);
    ASSERT_TRUE(plan.chosen) << size;
    EXPECT_LE(plan.tried[*plan.chosen].bytes.value, static_cast<int64_t>(size * kGiB));
    EXPECT_LE(plan.tried.size(), 7u);
  }
}

TEST(Plan, SavesOfAGpuGoToTheHostOnlyIfRecomputingIsNotEnough) {
  Program program;
  const Plan plan = plan_for(program, 5);
  EXPECT_EQ(chosen(plan), "recompute 34% and offload");
  EXPECT_EQ(program.asked, (std::vector<std::string>{"as it is", "recompute 34%", "recompute 34% and offload"}));
  EXPECT_EQ(plan_text(plan),
            "fits in 5.0 GiB with --apply recompute --recompute-budget 34% --allow offload: it needs 4.0 GiB reserved; "
            "as it is, it needs 20.0 GiB reserved");
  Program smaller, smallest;
  EXPECT_EQ(chosen(plan_for(smaller, 3.6)), "bitwise and offload");
  EXPECT_EQ(plan_for(smallest, 3).stop, Stop::too_small);
}

TEST(Plan, TheHostsMemoryIsALimitOfTheChoicesThatOffload) {
  Program program, none;
  const Plan plan = plan_for(program, 5, uint64_t{8} << 30);
  ASSERT_TRUE(plan.chosen);
  const Choice& choice = plan.tried[*plan.chosen].choice;
  EXPECT_EQ(settings_of(choice).host_memory, uint64_t{8} << 30);
  EXPECT_EQ(options_of(choice), "--apply recompute --recompute-budget 34% --allow offload --host-memory 8589934592");
  for (const Tried& tried : plan.tried) EXPECT_EQ(tried.choice.host_memory.has_value(), tried.choice.offloads);
  EXPECT_EQ(plan_for(none, 5, 0).stop, Stop::too_small);
  EXPECT_EQ(none.asked, (std::vector<std::string>{"as it is", "recompute 34%"}))
      << "the host has no memory for offloaded saves";
}

TEST(Plan, WhatCannotFitIsSaidWithTheLeastMemory) {
  Program program;
  program.is_on_gpu = false;
  const Plan plan = plan_for(program, 5);
  EXPECT_FALSE(plan.chosen);
  EXPECT_EQ(plan.stop, Stop::too_small);
  EXPECT_EQ(program.asked, (std::vector<std::string>{"as it is", "recompute 34%"}));
  EXPECT_EQ(plan_text(plan),
            "does not fit in 5.0 GiB: the least is 6.0 GiB, with --apply recompute --recompute-budget 34%");
}

TEST(Plan, TheLeastWasMeasuredWithRoomAndAFullGpuMayNeedLess) {
  Program program;
  program.has_roomy = true;
  program.allocated_percent = 90;
  EXPECT_EQ(plan_text(plan_for(program, 5, 0)),
            "does not fit in 5.0 GiB: the least is 6.0 GiB (a full GPU may need less, but at least 5.4 GiB), with "
            "--apply recompute --recompute-budget 34%");
  program = Program();
  program.has_roomy = true;
  EXPECT_EQ(plan_text(plan_for(program, 5, 0)),
            "does not fit in 5.0 GiB: the least is 6.0 GiB, with --apply recompute --recompute-budget 34%");
}

TEST(Plan, AProgramThatFailsHasNoPlan) {
  Program program;
  program.outcome = [](const auto&) { return Outcome::failed; };
  const Plan plan = plan_for(program, 30);
  EXPECT_EQ(plan.stop, Stop::failed);
  EXPECT_FALSE(plan.chosen);
  EXPECT_EQ(program.asked.size(), 1u);
}

TEST(Plan, ARewrittenRunThatFailsIsNotChosen) {
  Program program;
  program.outcome = [](const policy::RewriteSettings& settings) {
    return settings.level == "bitwise" ? Outcome::failed : Outcome::measured;
  };
  EXPECT_NE(chosen(plan_for(program, 12.5)), "bitwise");
}

TEST(Plan, AnInterruptedSearchChoosesNothing) {
  for (size_t runs = 0; runs < 4; ++runs) {
    Program program;
    program.interrupted_after = runs;
    const Plan plan = plan_for(program, 8);
    EXPECT_EQ(plan.stop, Stop::interrupted);
    EXPECT_FALSE(plan.chosen);
  }
}

}  // namespace
}  // namespace tapelens::plan
