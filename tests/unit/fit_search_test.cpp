// The search for the largest size with synthetic runs: each test sets the memory of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "analyzer/fit/fit.h"
#include "analyzer/fit/fit_json.h"
#include "analyzer/fit/fit_text.h"
#include "analyzer/fit/sizes.h"

namespace tapelens::fit {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

std::vector<uint64_t> sizes(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all;
  for (uint64_t size = first; size <= last; ++size) all.push_back(size);
  return all;
}

class Program final : public experiment::Runs {
 public:
  std::function<int64_t(uint64_t)> mebibytes = [](uint64_t size) { return 100 + 10 * static_cast<int64_t>(size); };
  std::set<uint64_t> failing, slow;
  size_t interrupted_after = SIZE_MAX;
  double usable = 1;      // fraction of the memory; the rest is in holes that are too small for any block
  std::string rewritten;  // with this rewrite, runs need half the memory
  std::string reads;      // Measurement::value_reads of failing runs

  std::map<std::string, Bytes> memory;  // of each GPU
  std::vector<uint64_t> run_sizes;
  std::vector<std::string> told;

  trace::Result<std::optional<experiment::Attempt>> run(const experiment::Variation& variation,
                                                        const std::string& progress) override {
    const uint64_t size = variation.size;
    EXPECT_EQ(size != 0, progress.find(", size " + std::to_string(size)) != std::string::npos) << progress;
    EXPECT_TRUE(names_.insert(variation.name).second) << "run twice";
    if (run_sizes.size() == interrupted_after) return std::optional<experiment::Attempt>();
    run_sizes.push_back(size);
    experiment::Attempt attempt;
    attempt.measured.optimizer_steps = attempt.measured.fewest_optimizer_steps = 3;
    attempt.was_ended = true;
    if (failing.contains(size)) {
      attempt.outcome = Outcome::failed;
      attempt.exit_code = 1;
      attempt.was_ended = false;
      attempt.why = "exit code 1";
      attempt.last_words = "ValueError: no such size\n";
      attempt.measured.value_reads = reads;
      return std::optional(attempt);
    }
    if (slow.contains(size)) {
      attempt.outcome = Outcome::cut_off;
      attempt.why = "0 steps of 3 had ended when its time was up (--limit)";
      return std::optional(attempt);
    }
    Bytes needed{mebibytes(size) * kMiB};
    if (variation.rewrites.on) {
      needed.value /= 2;
      attempt.was_rewritten = !rewritten.empty();
      attempt.rewritten = rewritten.empty() ? "nothing was rewritten; skipped 2 sites" : rewritten;
    }
    const Bytes all = memory.at(variation.gpu);
    const auto most = static_cast<int64_t>(static_cast<double>(all.value) * usable);
    attempt.outcome = needed.value <= most ? Outcome::measured : Outcome::out_of_memory;
    attempt.measured.allocated = std::min(needed, all);
    attempt.measured.reserved = attempt.measured.allocated;
    if (attempt.outcome == Outcome::out_of_memory) attempt.why = "cuda:0 had no room for 8.0 MiB, train.py:7 forward";
    return std::optional(attempt);
  }
  void tell(const std::string& result) override { told.push_back(result); }

 private:
  std::set<std::string> names_;
};

Setting card(int64_t mebibytes, const std::string& gpu = "H100", const std::string& apply = "") {
  policy::RewriteSettings rewrites;
  rewrites.on = !apply.empty();
  return {gpu, "NVIDIA " + gpu, Bytes{mebibytes * kMiB}, apply, rewrites};
}

Fit found(Program& program, std::vector<Setting> settings, std::vector<uint64_t> all, bool every = false) {
  for (const Setting& setting : settings) program.memory[setting.gpu] = setting.memory;
  auto fit = find(program, {std::move(settings), std::move(all), every});
  EXPECT_TRUE(fit);
  fit->steps = 3;
  return std::move(*fit);
}

uint64_t size_of(const Point* point) { return point == nullptr ? 0 : point->size; }

TEST(Sizes, AreRangesMultiplesAndLists) {
  EXPECT_EQ(*parse_sizes("1..4"), (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(*parse_sizes("8..32:8"), (std::vector<uint64_t>{8, 16, 24, 32}));
  EXPECT_EQ(*parse_sizes("5..20:8"), (std::vector<uint64_t>{8, 16}));
  EXPECT_EQ(*parse_sizes("32,8,16,8"), (std::vector<uint64_t>{8, 16, 32}));
  EXPECT_EQ(*parse_sizes("1,4..6,100"), (std::vector<uint64_t>{1, 4, 5, 6, 100}));
  EXPECT_EQ(*parse_sizes("7"), (std::vector<uint64_t>{7}));
  EXPECT_EQ(parse_sizes("1..1000000")->size(), kMostSizes);
  for (const char* wrong : {"", "0", "4..2", "1..", "..4", "1..4:0", "x", "1,,2", "1..4:", "-1", "1.5", "9..15:8,",
                            "1..7:8", "99999999999999999999"}) {
    const auto refused = parse_sizes(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("is not a list of sizes, like 1..256"), std::string::npos) << wrong;
  }
  EXPECT_NE(parse_sizes("1..1000001").error().message.find("more than 1,000,000 sizes"), std::string::npos);
  EXPECT_NE(parse_sizes("1..999999,1..2").error().message.find("more than"), std::string::npos);
}

TEST(Fit, TheLargestIsBetweenOneRunThatFitsAndOneThatDoesNot) {
  for (int64_t memory = 105; memory < 700; memory += 7) {
    Program program;
    const Fit fit = found(program, {card(memory)}, sizes(1, 64));
    const Series& series = fit.series.front();
    const uint64_t wanted = std::min<int64_t>(64, std::max<int64_t>(0, (memory - 100) / 10));
    EXPECT_EQ(size_of(largest(series)), wanted) << memory;
    EXPECT_EQ(size_of(too_large(series)), wanted == 64 ? 0 : wanted + 1) << memory;
    EXPECT_TRUE(is_settled(series)) << memory;
    EXPECT_LE(series.points.size(), 6U) << memory;  // the search follows peaks on a line
  }
}

TEST(Fit, MemoryThatIsLostInHolesCostsFewRuns) {
  for (const auto& [usable, most] : {std::pair(0.99, 7U), {0.97, 9U}, {0.9, 14U}}) {
    Program program;
    program.mebibytes = [](uint64_t size) { return 300 + 83 * static_cast<int64_t>(size); };
    program.usable = usable;
    const Fit fit = found(program, {card(40 * 1024)}, sizes(1, 1024));
    EXPECT_EQ(size_of(largest(fit.series.front())), static_cast<uint64_t>((40 * 1024 * usable - 300) / 83));
    EXPECT_TRUE(is_settled(fit.series.front()));
    EXPECT_LE(fit.series.front().points.size(), most) << usable;
  }
}

TEST(Fit, WhatIsOnNoLineTakesLittleMoreRunsThanHalving) {
  const std::vector<std::function<int64_t(uint64_t)>> shapes = {
      [](uint64_t size) { return size * size / 8; }, [](uint64_t size) { return size < 400 ? 10 : 5000; },
      [](uint64_t size) { return 100 + static_cast<int64_t>(std::sqrt(static_cast<double>(size)) * 20); },
      [](uint64_t size) { return 100 + static_cast<int64_t>(size / 37) * 64; }};
  for (const auto& shape : shapes) {
    for (const int64_t memory : {90, 150, 400, 900, 4000}) {
      Program program;
      program.mebibytes = shape;
      const Fit fit = found(program, {card(memory)}, sizes(1, 1024));
      const Series& series = fit.series.front();
      uint64_t wanted = 0;
      while (wanted < 1024 && shape(wanted + 1) <= memory) ++wanted;
      EXPECT_EQ(size_of(largest(series)), wanted);
      EXPECT_TRUE(is_settled(series));
      EXPECT_LE(series.points.size(), 18U) << wanted;
    }
  }
}

TEST(Fit, ASecondGpuIsSearchedWhereThePeaksOfTheFirstSay) {
  Program program;
  const Fit fit = found(program, {card(600), card(1000, "H200")}, sizes(1, 256));
  EXPECT_EQ(size_of(largest(fit.series[0])), 50U);
  EXPECT_EQ(size_of(largest(fit.series[1])), 90U);
  EXPECT_EQ(fit.series[1].points.size(), 2U);
}

TEST(Fit, WithRewritesItIsAnotherSearch) {
  Program program;
  program.rewritten = "rewrote 8 saves";
  const Fit fit = found(program, {card(600), card(600, "H100", "lossless")}, sizes(1, 256));
  EXPECT_EQ(size_of(largest(fit.series[0])), 50U);
  EXPECT_EQ(size_of(largest(fit.series[1])), 110U);
  const std::string text = fit_text(fit);
  EXPECT_NE(text.find("H100 with lossless: NVIDIA H100, 600.0 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  Rewrites at 110: rewrote 8 saves.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Largest that fits\n  H100                50\n  H100 with lossless  110\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("without --apply"), std::string::npos);
}

TEST(Fit, ThatNothingWasRewrittenIsSaid) {
  Program program;
  const Fit fit = found(program, {card(600, "H100", "bitwise")}, sizes(1, 256));
  EXPECT_NE(
      fit_text(fit).find("Rewrites at 110: nothing was rewritten; skipped 2 sites; this is what fits without --apply."),
      std::string::npos);
}

TEST(Fit, ThatNoneOrAllFitIsSaid) {
  Program program;
  const Fit none = found(program, {card(80)}, sizes(1, 64));
  EXPECT_EQ(program.run_sizes, (std::vector<uint64_t>{1}));
  EXPECT_EQ(largest(none.series.front()), nullptr);
  EXPECT_EQ(answer_text(none.series.front()), "None fits: 1 does not.");
  const Fit all = found(program, {card(9000, "H200")}, sizes(1, 64));
  EXPECT_EQ(program.run_sizes, (std::vector<uint64_t>{1, 1, 4, 64}));
  EXPECT_EQ(answer_text(all.series.front()), "All requested sizes fit, up to 64.");
}

TEST(Fit, RunsThatFailAreGoneAroundAndNeverCounted) {
  Program program;
  program.failing = {1, 31};
  const Fit fit = found(program, {card(400)}, sizes(1, 64));
  const Series& series = fit.series.front();
  EXPECT_EQ(size_of(largest(series)), 30U);
  EXPECT_EQ(size_of(too_large(series)), 32U);
  EXPECT_FALSE(is_settled(series));
  EXPECT_EQ(answer_text(series), "At least 30 fits, 32 does not. Of 31 it is not known.");
  const std::string text = fit_text(fit);
  EXPECT_NE(text.find("failed: exit code 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Last output of the run with 1:\nValueError: no such size\n"), std::string::npos) << text;
}

TEST(Fit, ZerosAreNamedAsACauseOnlyWhereARunThatFailedHadReadSome) {
  const auto text_after = [](const std::string& reads) {
    Program program;
    program.failing = {1};
    program.reads = reads;
    return fit_text(found(program, {card(400)}, sizes(1, 64)));
  };
  constexpr const char* kSentence = "if such a value is why, only a real GPU has it";
  EXPECT_EQ(text_after("").find(kSentence), std::string::npos);
  EXPECT_NE(text_after("read at train.py:3 (item)").find(kSentence), std::string::npos);
}

TEST(Fit, TheSearchIsGivenUpWhenTooManyRunsSayNothing) {
  Program program;
  for (uint64_t size = 1; size <= 64; ++size) (size % 2 == 0 ? program.failing : program.slow).insert(size);
  const Fit fit = found(program, {card(400)}, sizes(1, 64));
  const Series& series = fit.series.front();
  EXPECT_EQ(series.points.size(), 3U);
  EXPECT_TRUE(series.was_given_up);
  EXPECT_EQ(answer_text(series), "None is known to fit. Of 1 to 64 it is not known.");
  EXPECT_NE(fit_text(fit).find("The search was given up"), std::string::npos);
}

TEST(Fit, SizesThatFitAboveOneThatDoesNotAreSaid) {
  Program program;
  program.mebibytes = [](uint64_t size) { return size == 8 ? 900 : 100 + 10 * static_cast<int64_t>(size); };
  const Fit fit = found(program, {card(400)}, {4, 8, 12, 48}, /*every=*/true);
  const Series& series = fit.series.front();
  EXPECT_EQ(program.run_sizes, (std::vector<uint64_t>{4, 8, 12, 48}));
  EXPECT_EQ(answer_text(series), "Largest that fits: 12. 48 does not.");
  EXPECT_NE(fit_text(fit).find("  8 does not fit, although 12 does.\n"), std::string::npos) << fit_text(fit);
}

TEST(Fit, APeakThatFallsWithTheSizeIsSaid) {
  Program program;
  program.mebibytes = [](uint64_t size) { return size % 2 == 0 ? 200 : 300; };
  const Fit fit = found(program, {card(400)}, {1, 2, 3}, /*every=*/true);
  EXPECT_NE(fit_text(fit).find("The peak does not grow with the size: at 2 it is 200.0 MiB, at 1 300.0 MiB."),
            std::string::npos)
      << fit_text(fit);
}

TEST(Fit, OneRunSaysWhetherAProgramFitsAsItIs) {
  Program program;
  EXPECT_EQ(answer_text(found(program, {card(100)}, {0}).series.front()), "It fits.");
  EXPECT_EQ(answer_text(found(program, {card(99, "T4")}, {0}).series.front()), "It does not fit.");
  program.failing = {0};
  EXPECT_EQ(answer_text(found(program, {card(100, "L4")}, {0}).series.front()), "It is not known whether it fits.");
}

TEST(Fit, InterruptedItSaysWhatItHas) {
  Program program;
  program.interrupted_after = 2;
  const Fit fit = found(program, {card(400), card(4000, "H200")}, sizes(1, 64));
  EXPECT_TRUE(fit.was_interrupted);
  EXPECT_EQ(fit.series.size(), 1U);
  const std::string text = fit_text(fit);
  EXPECT_NE(text.find("At least 4 fits. Of 5 to 64 it is not known.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Interrupted: results of the runs so far.\n"), std::string::npos) << text;
}

TEST(Fit, WhatAReaderMayTakeForTooMuchIsSaid) {
  Series series{card(2048), {8}, {}, false};
  Point point;
  point.size = 8;
  point.outcome = Outcome::measured;
  point.measured.allocated = point.measured.reserved = Bytes{1000 * kMiB};
  point.measured.optimizer_steps = point.measured.fewest_optimizer_steps = 3;
  point.was_ended = true;
  series.points = {point};
  EXPECT_TRUE(remarks(series, 3).empty());
  series.points[0].measured.grew = true;
  series.points[0].measured.reserved = Bytes{1536 * kMiB};
  series.points[0].measured.value_reads = "The peak may depend on values.";
  const std::vector<std::string> all = remarks(series, 3);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], "The peak at 8 still grew in the last of 3 steps: a longer run may not fit (--steps).");
  EXPECT_EQ(all[1], "The peak may depend on values.");
  EXPECT_EQ(all[2], "The headroom at 8, 512.0 MiB, may not hold what is outside of PyTorch's allocator on a real GPU.");
  series.points[0] = point;
  series.points[0].measured.fewest_optimizer_steps = 1;
  EXPECT_EQ(remarks(series, 3).at(0),
            "A process that uses a GPU had made 1 step of 3 at 8 when the run was ended: its own peak may be larger.");
  series.points[0].was_ended = false;
  series.points[0].measured.optimizer_steps = 0;
  EXPECT_EQ(remarks(series, 3).at(0),
            "No step of an optimizer ended at 8: this is the peak of the whole run, to its end.");
  EXPECT_TRUE(remarks(series, 0).empty());
}

TEST(Fit, InJsonThereIsEveryPoint) {
  Program program;
  program.failing = {31};
  Fit fit = found(program, {card(400)}, sizes(1, 64));
  fit.command = "python train.py '{}'";
  const auto json = nlohmann::json::parse(fit_json(fit));
  EXPECT_EQ(json["command"], "python train.py '{}'");
  const auto& series = json["series"][0];
  EXPECT_EQ(series["largest"], 30);
  EXPECT_EQ(series["smallest_too_large"], 32);
  EXPECT_EQ(series["settled"], false);
  EXPECT_EQ(series["memory_bytes"], 400 * kMiB);
  EXPECT_EQ(series["apply"], nullptr);
  uint64_t before = 0;
  for (const auto& point : series["points"]) {
    const uint64_t size = point["size"];
    EXPECT_GT(size, before);
    before = size;
    if (size == 31) {
      EXPECT_EQ(point["fits"], nullptr);
      EXPECT_EQ(point["outcome"], "failed");
      EXPECT_EQ(point["exit_code"], 1);
    } else {
      EXPECT_EQ(point["fits"], size <= 30);
      EXPECT_EQ(point["exit_code"], nullptr);
    }
    if (size > 30) continue;
    EXPECT_EQ(point["headroom_bytes"], (300 - 10 * static_cast<int64_t>(size)) * kMiB);
  }
}

TEST(Fit, TheTextSaysHowToSearchWithTheMemoryOfTheHost) {
  const auto says = [](std::vector<const char*> applied) {
    Fit fit;
    for (const char* apply : applied) {
      Series series;
      series.setting = {"L4", "NVIDIA L4", Bytes{int64_t{1} << 30}, apply};
      series.sizes = {0};
      fit.series.push_back(series);
    }
    return fit_text(fit).find("With --host-memory SIZE, auto is searched once more") != std::string::npos;
  };
  EXPECT_FALSE(says({"", "bitwise"}));
  EXPECT_TRUE(says({"", "bitwise", kAuto}));
  EXPECT_FALSE(says({"", "bitwise", kAuto, kAutoOffload}));
}

}  // namespace
}  // namespace tapelens::fit
