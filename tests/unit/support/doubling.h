// Tests that the processor time grows linearly with the work: each doubling may cost 2.3 times as much. Two doublings
// are measured, so that a disturbance of 30 % fails no test, and a cost that grows with the square is three times the
// limit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>

namespace tapelens::testing {

// Processor time of this process, in seconds: other processes do not count, but their use of the caches does.
inline double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Do>
double seconds_of(Do what) {
  const double begin = seconds_now();
  what();
  return seconds_now() - begin;
}

using Costs = std::map<std::string, double>;  // seconds by part

struct Doubling {
  static constexpr double kMostGrowth = 2.3;
  static constexpr int kTimes = 4;         // two doublings
  static constexpr double kNoise = 0.006;  // s
  static constexpr int kRounds = 10;

  Costs few, many;  // the least of all rounds: a disturbance only adds time

  static void keep_least(Costs& least, const Costs& measured) {
    for (const auto& [part, cost] : measured) {
      const auto at = least.try_emplace(part, cost).first;
      at->second = std::min(at->second, cost);
    }
  }
  bool is_linear(const std::string& part) const {
    return many.at(part) <= kMostGrowth * kMostGrowth * (few.at(part) + kNoise);
  }
  bool is_linear() const {
    return std::all_of(few.begin(), few.end(), [this](const auto& each) { return is_linear(each.first); });
  }
};

// `costs(n)` measures n times the work. Measures again while a part looks worse than linear.
template <class Measure>
void expect_linear(Measure costs) {
  Doubling least;
  for (int round = 0; round < Doubling::kRounds && (round == 0 || !least.is_linear()); ++round) {
    Doubling::keep_least(least.few, costs(1));
    Doubling::keep_least(least.many, costs(Doubling::kTimes));
  }
  ASSERT_FALSE(least.few.empty());
  ASSERT_EQ(least.few.size(), least.many.size());
  for (const auto& [part, cost] : least.few) {
    EXPECT_TRUE(least.is_linear(part)) << part << ": " << cost << " s, " << Doubling::kTimes << " times the work "
                                       << least.many.at(part) << " s";
  }
}

}  // namespace tapelens::testing
