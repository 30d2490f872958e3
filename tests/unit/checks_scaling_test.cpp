// Each check, and the analysis before it, costs at most 2.3 times as much for a recording of twice as many steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>

#include "analyzer/advise/advice.h"
#include "analyzer/model/load.h"
#include "plugins/builtin.h"
#include "testing/synthetic_recording.h"
#include "trace/recording.h"

namespace tapelens::advise {
namespace {

// Processor time of this thread: other processes do not count.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Do>
double least_of_three(Do what) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin = seconds_now();
    what();
    least = std::min(least, seconds_now() - begin);
  }
  return least;
}

std::map<std::string, double> cost_by_part(uint64_t events) {
  const auto made = testing::SyntheticRecording::make({.events = events, .layers = 1});  // short steps, many of them
  if (!made) return {};
  const auto recording = trace::Recording::open((*made).path());
  if (!recording) return {};
  const model::Text text = model::load_text(*recording);
  const model::Process process = model::load_process(*recording, text, trace::ProcessIndex{0});
  std::map<std::string, double> cost;
  cost["analysis"] = least_of_three([&] {
    const peak::Analysis analysis(process, text);
    const peak::DeviceAnalysis device(analysis, analysis.devices().front().device);
    device.timeline();
    analysis.provenance();
  });
  const peak::Analysis analysis(process, text);
  const peak::DeviceAnalysis device(analysis, analysis.devices().front().device);
  Checks checks = plugins::builtin_checks();
  for (const auto& entry : checks.entries()) {
    Wanted only;
    only.checks.emplace_back(entry.check->info().id);
    advise(device, checks, only);  // the first one pays for what all of them share
    cost[only.checks[0]] = least_of_three([&] { advise(device, checks, only); });
  }
  return cost;
}

TEST(ChecksScaling, TwiceTheStepsCostAtMostTwiceTheTime) {
  constexpr uint64_t kEvents = 1'000'000;
  constexpr double kNoise = 0.003;  // s
  const auto once = cost_by_part(kEvents), twice = cost_by_part(2 * kEvents);
  ASSERT_FALSE(once.empty());
  ASSERT_EQ(once.size(), twice.size());
  for (const auto& [part, cost] : once)
    EXPECT_LE(twice.at(part), 2.3 * (cost + kNoise)) << part << ": " << cost << " s";
}

}  // namespace
}  // namespace tapelens::advise
