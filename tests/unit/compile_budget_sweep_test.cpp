// The sweep over budgets with synthetic runs: its choice of runs, the knee, messages and files.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "analyzer/compile_budget/compile_budget.h"
#include "analyzer/compile_budget/renderings.h"

namespace tapelens::compile_budget {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A compiled program with a peak of this many MiB.
Point at(double budget, int64_t mebibytes, int64_t kept = 10) {
  Point point;
  point.budget = budget;
  point.was_ended = true;
  Measurement& measured = point.measured;
  measured.device = "cpu";
  measured.peak = Bytes{mebibytes * kMiB};
  measured.later_peak = measured.peak;
  measured.phase = model::Phase::backward;
  measured.peak_step = 2;
  measured.steps = 5;
  measured.step_ns = 10'000'000;
  measured.kept = {.graphs = 1, .saves = 4, .bytes = Bytes{kept * kMiB}};
  measured.is_compiled = measured.is_set = true;
  measured.in_effect = {budget};
  return point;
}

class Program final : public experiment::Runs {
 public:
  explicit Program(std::function<Point(double)> make) : make_(std::move(make)) {}
  trace::Result<std::optional<experiment::Attempt>> run(const experiment::Variation& variation,
                                                        const std::string& progress) override {
    const std::string name = budget_name(variation.activation_budget.value_or(-1));
    EXPECT_EQ(variation.name, "budget-" + name);
    EXPECT_TRUE(progress.starts_with("budget " + name + ", run ")) << progress;
    if (asked.size() == interrupted_after) return std::optional<experiment::Attempt>();
    asked.push_back(*variation.activation_budget);
    return std::optional<experiment::Attempt>(make_(asked.back()));
  }
  void tell(const std::string& result) override { told.push_back(result); }
  std::vector<double> asked;
  std::vector<std::string> told;
  size_t interrupted_after = SIZE_MAX;

 private:
  std::function<Point(double)> make_;
};

Sweep of(const std::vector<Point>& points) {
  std::vector<double> budgets;
  for (const Point& point : points) budgets.push_back(point.budget);
  size_t next = 0;
  Program program([&](double) { return points[next++]; });
  auto found = sweep(program, budgets);
  EXPECT_TRUE(found);
  return *found;
}

bool is_remarked(const Sweep& sweep, const std::string& part) {
  for (const std::string& remark : remarks(sweep)) {
    if (remark.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Budgets, AreNumbersFromZeroToOneWithOneAmongThem) {
  EXPECT_EQ(*parse_budgets("0.3,0.5"), (std::vector<double>{1, 0.5, 0.3}));
  EXPECT_EQ(*parse_budgets("1.0,0,.25,0.25"), (std::vector<double>{1, 0.25, 0}));
  EXPECT_EQ(parse_budgets(kDefaultBudgets)->size(), 8U);
  for (const char* wrong : {"", ",", "0.3,", "1.1", "-0.1", "nan", "x", "0.3;0.5", "0.5x", "1e-3", "0.3,,0.5"}) {
    EXPECT_FALSE(parse_budgets(wrong)) << wrong;
  }
}

TEST(Budgets, TheKneeIsTheHighestWithNinePartsInTenOfWhatTheLowestSaves) {
  const Sweep found = of({at(1, 200), at(0.6, 150), at(0.4, 109), at(0.2, 100), at(0, 180)});
  EXPECT_EQ(base(found)->budget, 1);
  EXPECT_EQ(lowest(found)->budget, 0.2);
  EXPECT_EQ(knee(found)->budget, 0.4);
  EXPECT_EQ(no_lower_than(found, found.points[4])->budget, 0.6);
  EXPECT_EQ(no_lower_than(found, found.points[3]), nullptr);
  EXPECT_EQ(answer_text(found),
            "Knee: 0.4, with a peak of 109.0 MiB (-45.5 %) and steps of 10.0 ms (+0.0 %). The lowest: 0.2, with a "
            "peak of 100.0 MiB (-50.0 %) and steps of 10.0 ms (+0.0 %).");
  EXPECT_TRUE(is_remarked(found, "Below 0.2 no budget lowers the peak: at 0 it is in the backward."));
}

TEST(Budgets, PeaksThatDifferByLessThanHalfAPercentAreTheSame) {
  const Sweep found = of({at(1, 1000), at(0.5, 600), at(0.2, 599), at(0, 596)});
  EXPECT_EQ(lowest(found)->budget, 0.5);
  EXPECT_EQ(knee(found)->budget, 0.5);
  const Sweep flat = of({at(1, 1000, 3), at(0.5, 996, 3)});
  EXPECT_EQ(knee(flat), nullptr);
  EXPECT_EQ(answer_text(flat),
            "No budget lowers the peak: with 1 it is in the backward, and the compiled graphs keep 3.0 MiB of its "
            "1000.0 MiB.");
}

TEST(Budgets, WhatTheTableSays) {
  const Sweep found = of({at(1, 200, 80), at(0.5, 100, 40), at(0.2, 100, 40), at(0.1, 120, 20)});
  const std::string text = budget_text(found, {});
  EXPECT_NE(text.find("Peak on cpu by activation_memory_budget, 5 steps a run\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("     0.5   100.0 MiB  -50.0 %     10.0 ms   +0.0 %    40.0 MiB      4  ██████████            knee, "
                "the lowest\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("keeps the same as 0.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no lower than 0.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("activation_memory_budget = 0.5\n"), std::string::npos) << text;
  EXPECT_TRUE(is_remarked(found, "With 0.1 the graph keeps less, but the backward needs more memory"));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(budget_text(found, {.color = true}).find("\033[1m"), std::string::npos);
}

TEST(Budgets, WhatCompilesNothingIsRunOnce) {
  Program program([](double budget) {
    Point point = at(budget, 100);
    point.measured.is_compiled = false;
    point.measured.in_effect.clear();
    return point;
  });
  const auto found = sweep(program, {1, 0.5, 0});
  EXPECT_EQ(program.asked, (std::vector<double>{1}));
  EXPECT_EQ(found->stop, Stop::nothing_compiled);
  EXPECT_EQ(budget_text(*found, {}),
            "No compiled graph was seen: no graph of torch.compile with a backward ran in 5 steps, so there is nothing "
            "that a budget changes.\n");
}

TEST(Budgets, AProgramThatSetsItsOwnWins) {
  Program program([](double budget) {
    Point point = at(budget, 100);
    point.measured.in_effect = {1.0, 1.0};
    return point;
  });
  const auto found = sweep(program, {1, 0.5, 0});
  EXPECT_EQ(program.asked, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(found->stop, Stop::set_by_program);
  EXPECT_TRUE(answer_text(*found).starts_with("The program sets the budget itself (1)"));
  EXPECT_FALSE(is_measured(found->points[1])) << "the run is not one with 0.5";

  Point partly = at(0.5, 50);
  partly.measured.in_effect = {0.5, 0.7};
  const Sweep some = of({at(1, 100), partly});
  EXPECT_EQ(some.stop, Stop::none);
  EXPECT_TRUE(is_remarked(some, "For some graphs the program sets a budget itself"));
}

TEST(Budgets, ABudgetThatCannotBeSetEndsIt) {
  Point point = at(1, 100);
  point.measured.why_not_set = "KeyError: 'activation_memory_budget'";
  const Sweep found = of({point, at(0.5, 50)});
  EXPECT_EQ(found.stop, Stop::cannot_be_set);
  EXPECT_EQ(found.points.size(), 1U);
  EXPECT_NE(answer_text(found).find("KeyError"), std::string::npos);
  point.measured.why_not_set.clear();
  point.measured.is_set = false;
  EXPECT_EQ(of({point, at(0.5, 50)}).stop, Stop::cannot_be_set);
}

TEST(Budgets, RunsThatFailAreNeverCounted) {
  Point failed = at(0.5, 1);
  failed.outcome = Outcome::failed;
  failed.was_ended = false;
  failed.exit_code = 1;
  failed.why = "exit code 1";
  failed.last_words = "ValueError: no\n";
  const Sweep later = of({at(1, 100), failed, at(0.2, 60)});
  EXPECT_EQ(later.points.size(), 3U);
  EXPECT_EQ(knee(later)->budget, 0.2);
  EXPECT_TRUE(is_remarked(later, "Of 0.5 nothing is known."));
  EXPECT_NE(budget_text(later, {}).find("Last output of the run with 0.5:\nValueError: no\n"), std::string::npos);

  failed.budget = 1;
  const Sweep first = of({failed, at(0.5, 50)});
  EXPECT_EQ(first.stop, Stop::first_failed);
  EXPECT_EQ(first.points.size(), 1U);
  EXPECT_EQ(knee(first), nullptr);
}

TEST(Budgets, WhatIsOutOfMemoryWithOneIsComparedWithTheHighestThatIsNot) {
  Point full = at(1, 100);
  full.outcome = Outcome::out_of_memory;
  full.why = "cuda:0 had no room for 1.0 GiB";
  full.measured.is_compiled = false;
  const Sweep found = of({full, at(0.8, 90), at(0.4, 50)});
  EXPECT_EQ(base(found)->budget, 0.8);
  EXPECT_EQ(knee(found)->budget, 0.4);
  EXPECT_TRUE(is_remarked(found, "Out of memory with 1: the others are compared with 0.8."));
  EXPECT_NE(budget_text(found, {}).find("       1   out of memory: cuda:0 had no room for 1.0 GiB\n"),
            std::string::npos);
}

TEST(Budgets, WhatWasRunBeforeAnInterruptionIsSaid) {
  Program program([](double budget) { return at(budget, 100); });
  program.interrupted_after = 2;
  const auto found = sweep(program, {1, 0.5, 0});
  EXPECT_EQ(found->stop, Stop::interrupted);
  EXPECT_EQ(found->points.size(), 2U);
  EXPECT_TRUE(is_remarked(*found, "Interrupted"));
}

TEST(Budgets, AProgramReadsTheSame) {
  Point failed = at(0.1, 1);
  failed.outcome = Outcome::cut_off;
  Sweep found = of({at(1, 200, 80), at(0.5, 100, 40), at(0.2, 120, 20), failed});
  found.command = "python train.py";
  found.steps = 5;
  const auto json = nlohmann::json::parse(budget_json(found));
  EXPECT_EQ(json["knee"], 0.5);
  EXPECT_EQ(json["lowest"], 0.5);
  EXPECT_EQ(json["compared_with"], 1);
  EXPECT_EQ(json["stopped"], nullptr);
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["points"].size(), 4U);
  const auto& half = json["points"][1];
  EXPECT_EQ(half["peak_bytes"], 100 * kMiB);
  EXPECT_EQ(half["change_bytes"], -100 * kMiB);
  EXPECT_EQ(half["lowers_peak"], true);
  EXPECT_EQ(half["kept_bytes"], 40 * kMiB);
  EXPECT_EQ(half["saves"], 4);
  EXPECT_EQ(half["step_ns"], 10'000'000);
  EXPECT_EQ(half["phase"], "backward");
  EXPECT_EQ(json["points"][2]["no_lower_than"], 0.5);
  EXPECT_EQ(json["points"][3]["outcome"], "cut_off");
  EXPECT_EQ(json["points"][3]["peak_bytes"], nullptr);
}

TEST(Budgets, APeakOfTheFirstStepIsSaidOnlyIfLaterStepsNeedLess) {
  Point one = at(1, 200), half = at(0.5, 100);
  half.measured.peak_step = 0;
  EXPECT_FALSE(is_remarked(of({one, half}), "the first step"));
  half.measured.later_peak = Bytes{90 * kMiB};
  EXPECT_TRUE(is_remarked(of({one, half}), "With 0.5 the peak is in the first step, which compiles"));
}

TEST(Budgets, HowMuchStepsOfOneRunDifferIsSaid) {
  Point one = at(1, 200), half = at(0.5, 100);
  EXPECT_FALSE(is_remarked(of({one, half}), "noise"));
  half.measured.least_step_ns = 9'000'000;
  half.measured.most_step_ns = 12'500'000;
  EXPECT_TRUE(is_remarked(of({one, half}), "Steps of one run differ by up to 3.5 ms"));
}

TEST(Budgets, TheKneeIsByCost) {
  Point one = at(1, 100), high = at(0.8, 60), low = at(0.2, 50);
  low.measured.step_ns = 15'000'000;  // 10 % of the peak more for half of a step
  EXPECT_EQ(knee(of({one, high, low}))->budget, 0.8);
  EXPECT_EQ(lowest(of({one, high, low}))->budget, 0.2);
  low.measured.step_ns = 10'100'000;
  EXPECT_EQ(knee(of({one, high, low}))->budget, 0.2);
  low.measured.peak = Bytes{56 * kMiB};  // a tenth of the gain is not worth a lower budget
  EXPECT_EQ(knee(of({one, high, low}))->budget, 0.8);
  // Every budget costs more than it saves: the one with the smallest loss.
  high.measured.step_ns = 20'000'000;
  low.measured.step_ns = 18'000'000;
  EXPECT_EQ(knee(of({one, high, low}))->budget, 0.2);
}

TEST(Budgets, NoiseIsNoCost) {
  Point one = at(1, 100), high = at(0.8, 60), low = at(0.2, 50);
  low.measured.step_ns = 15'000'000;
  one.measured.least_step_ns = 8'000'000;
  one.measured.most_step_ns = 14'000'000;
  const Sweep found = of({one, high, low});
  EXPECT_EQ(noise_ns(found), 6'000'000);
  EXPECT_TRUE(is_time_noise(found, found.points[2]));
  EXPECT_EQ(knee(found)->budget, 0.2);
  EXPECT_TRUE(is_remarked(found, "Steps of one run differ by up to 6.0 ms: smaller changes of their time are noise."));
  EXPECT_EQ(nlohmann::json::parse(budget_json(found))["points"][2]["step_change_is_noise"], true);
  one.measured.most_step_ns = 9'000'000;
  EXPECT_FALSE(is_time_noise(of({one, high, low}), found.points[2]));
}

TEST(Budgets, StepsOfASimulatedGpuHaveNoTime) {
  Point one = at(1, 200), half = at(0.5, 100);
  for (Point* point : {&one, &half}) {
    point->measured.is_simulated = true;
    point->measured.step_ns = 0;
  }
  const Sweep found = of({one, half});
  EXPECT_EQ(answer_text(found), "Knee: 0.5, with a peak of 100.0 MiB (-50.0 %).");
  EXPECT_TRUE(is_remarked(found, "Steps of a simulated GPU have no time"));
  EXPECT_EQ(nlohmann::json::parse(budget_json(found))["points"][0]["step_ns"], nullptr);
}

}  // namespace
}  // namespace tapelens::compile_budget
