// Memory against added time: the time grows linearly with the recording.
#include <gtest/gtest.h>

#include <cstdint>

#include "analyzer/model/load.h"
#include "analyzer/plan/curve.h"
#include "plugins/builtin.h"
#include "testing/model_builder.h"
#include "testing/synthetic.h"
#include "tests/unit/support/doubling.h"
#include "trace/recording.h"

namespace tapelens::plan {
namespace {

using namespace model;

constexpr int64_t kUnit = int64_t{1} << 20;

testing::Costs cost_of(uint64_t events) {
  const auto made = testing::SyntheticRecording::make({.events = events, .layers = 1});
  if (!made) return {};
  const auto recording = trace::Recording::open((*made).path());
  if (!recording) return {};
  const model::Text text = model::load_text(*recording);
  const model::Process process = model::load_process(*recording, text, trace::ProcessIndex{0});
  const peak::Analysis analysis(process, text);
  const peak::DeviceAnalysis device(analysis, analysis.devices().front().device);
  advise::Checks checks = plugins::builtin_checks();
  curve_of(device, checks);  // computes the results that all predictions share
  testing::Costs cost;
  cost["curve"] = testing::seconds_of([&] { curve_of(device, checks); });
  return cost;
}

TEST(PlanScaling, CostsGrowLinearlyWithTheSteps) {
  testing::expect_linear([](int times) { return cost_of(static_cast<uint64_t>(times) * 75'000); });
}

// A frozen weight, which autocast casts in every step.
class FrozenWeight : public testing::ProcessBuilder {
 public:
  explicit FrozenWeight(int steps) {
    const LayoutId whole = layout("float32", 4, {kUnit / 4}), half = layout("bfloat16", 2, {kUnit / 4});
    const AllocationId weight = allocate(1, kUnit);
    int64_t now = 10;
    for (int step = 0; step < steps; ++step, now += 20) {
      const OperatorId cast = op(now + 1, now + 3, "aten::_to_copy", {}, {}, {weight});
      view(cast, whole);
      const AllocationId copy = allocate(now + 2, kUnit / 2, cast);
      const OperatorId product = op(now + 4, now + 6, "aten::mm", {}, {}, {copy});
      const AllocationId result = allocate(now + 5, kUnit, product);
      const NodeId made = node(now + 7, "MmBackward0", product);
      save(now + 8, made, "mat2", copy, half);
      evaluate(now + 10, now + 12, made, true);
      free(now + 13, copy);
      free(now + 14, result);
      backward(now + 9, now + 15);
      optimizer_step(now + 16, now + 17);
    }
    process.duration = Time{now};
    done();
  }
};

TEST(PlanScaling, CostsGrowLinearlyWithTheCastsOfAFrozenWeight) {
  testing::expect_linear([](int times) {
    const FrozenWeight recorded(times * 5'000);
    const peak::Analysis analysis(recorded.process, recorded.text);
    advise::Checks checks = plugins::builtin_checks();
    return testing::Costs{
        {"curve", testing::seconds_of([&] { curve_of(peak::DeviceAnalysis(analysis, testing::kCpu), checks); })}};
  });
}

}  // namespace
}  // namespace tapelens::plan
