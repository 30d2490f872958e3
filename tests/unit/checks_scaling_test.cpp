// With twice as many steps, each check and the analysis before it take at most 2.3 times as long.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/advise/advice.h"
#include "analyzer/model/load.h"
#include "plugins/builtin.h"
#include "testing/synthetic.h"
#include "tests/unit/support/doubling.h"
#include "trace/recording.h"

namespace tapelens::advise {
namespace {

template <class Do>
double least_of_three(Do what) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) least = std::min(least, testing::seconds_of(what));
  return least;
}

testing::Costs cost_by_part(uint64_t events) {
  const auto made = testing::SyntheticRecording::make({.events = events, .layers = 1});  // many short steps
  if (!made) return {};
  const auto recording = trace::Recording::open((*made).path());
  if (!recording) return {};
  const model::Text text = model::load_text(*recording);
  const model::Process process = model::load_process(*recording, text, trace::ProcessIndex{0});
  testing::Costs cost;
  cost["analysis"] = least_of_three([&] {
    const peak::Analysis analysis(process, text);
    const peak::DeviceAnalysis device(analysis, analysis.devices().front().device);
    device.timeline();
    analysis.provenance();
    analysis.in_use();
  });
  const peak::Analysis analysis(process, text);
  const peak::DeviceAnalysis device(analysis, analysis.devices().front().device);
  Checks checks = plugins::builtin_checks();
  for (const auto& entry : checks.entries()) {
    AdviceOptions only;
    only.checks.emplace_back(entry.check->info().id);
    advise(device, checks, only);  // computes the results that all checks share
    cost[only.checks[0]] = least_of_three([&] { advise(device, checks, only); });
  }
  return cost;
}

TEST(ChecksScaling, TwiceTheStepsCostAtMostTwiceTheTime) {
  constexpr uint64_t kEvents = 1'000'000;
  testing::expect_linear([](int times) { return cost_by_part(static_cast<uint64_t>(times) * kEvents); });
}

}  // namespace
}  // namespace tapelens::advise
