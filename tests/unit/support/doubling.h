// Tests that twice the work takes at most about twice the processor time.
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
  static constexpr double kNoise = 0.006;  // s
  static constexpr int kRounds = 10;

  Costs once, twice;  // the least of all rounds: a disturbance only adds time

  static void keep_least(Costs& least, const Costs& measured) {
    for (const auto& [part, cost] : measured) {
      const auto at = least.try_emplace(part, cost).first;
      at->second = std::min(at->second, cost);
    }
  }
  bool is_linear(const std::string& part) const { return twice.at(part) <= kMostGrowth * (once.at(part) + kNoise); }
  bool is_linear() const {
    return std::all_of(once.begin(), once.end(), [this](const auto& each) { return is_linear(each.first); });
  }
};

// `costs(n)` measures n times the work. Measures again while a part looks worse than linear.
template <class Measure>
void expect_linear(Measure costs) {
  Doubling least;
  for (int round = 0; round < Doubling::kRounds && (round == 0 || !least.is_linear()); ++round) {
    Doubling::keep_least(least.once, costs(1));
    Doubling::keep_least(least.twice, costs(2));
  }
  ASSERT_FALSE(least.once.empty());
  ASSERT_EQ(least.once.size(), least.twice.size());
  for (const auto& [part, cost] : least.once)
    EXPECT_TRUE(least.is_linear(part)) << part << ": " << cost << " s, twice the work " << least.twice.at(part) << " s";
}

}  // namespace tapelens::testing
