// Memory against added time from one recording. The oracle tries each set of saves to recompute.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/plan/curve.h"
#include "plugins/builtin.h"
#include "policy/recompute/operators.h"
#include "testing/model_builder.h"
#include "tests/unit/support/random.h"

namespace tapelens::plan {
namespace {

using namespace model;

using testing::kCpu;
using testing::Random;

constexpr size_t kLayers = 8;
constexpr int64_t kUnit = int64_t{1} << 20;

// Each layer saves its input, which no operator makes again, and a result that one operator makes from the input.
struct Program {
  struct Layer {
    const char* op;
    int64_t input, result;  // bytes
    int64_t cost() const { return recompute::repeatable(op).passes * result; }
  };
  std::vector<Layer> layers;

  explicit Program(Random& random) {
    constexpr std::array kOps = {"aten::relu",     "aten::sigmoid",  "aten::silu", "aten::tanh",
                                 "aten::softplus", "aten::_softmax", "aten::mul",  "aten::log"};
    for (size_t i = 0; i < kLayers; ++i) {
      const int64_t bytes = kUnit * (1 + random.upto(8));
      layers.push_back({kOps[random.upto(static_cast<uint32_t>(kOps.size()))], bytes, bytes});
    }
  }

  // The peak if the results of these layers (bits) are recomputed: at the end of the forward, or while the backward of
  // a layer has the recomputed result.
  int64_t peak(uint32_t recomputed) const {
    int64_t live = 0, most = 0;
    for (size_t i = 0; i < kLayers; ++i) {
      const bool is_again = (recomputed >> i & 1) != 0;
      live += layers[i].input;
      most = std::max(most, live + layers[i].result);  // made in the forward, or in the backward
      if (!is_again) live += layers[i].result;
    }
    return most;
  }
  int64_t cost(uint32_t recomputed) const {
    int64_t sum = 0;
    for (size_t i = 0; i < kLayers; ++i) sum += (recomputed >> i & 1) != 0 ? layers[i].cost() : 0;
    return sum;
  }
  int64_t least_peak(int64_t most_cost) const {
    int64_t least = peak(0);
    for (uint32_t set = 0; set < 1U << kLayers; ++set)
      if (cost(set) <= most_cost) least = std::min(least, peak(set));
    return least;
  }
};

// Layers, each in its module. Variables hold tensors until the call of their module returns.
class Layers : public testing::ProcessBuilder {
 protected:
  OperatorId op_in(ModuleCallId call, int64_t duration, const char* name, const std::vector<AllocationId>& inputs) {
    const int64_t begin = ++now_;
    now_ += duration;
    const OperatorId op = this->op(begin, now_, name, {}, {}, inputs);
    process.operators.module_call.raw.back() = call.value;
    ++now_;
    return op;
  }
  AllocationId made_in(ModuleCallId call, int64_t bytes, OperatorId op) {
    const AllocationId made = allocate(now_ - 2, bytes, op);
    process.allocations.module_call.raw.back() = call.value;
    return made;
  }

  int64_t now_ = 10;
};

// The program in Tapelens's records. An operator takes a nanosecond for each KiB of its cost, other times are short.
class Recorded : public Layers {
 public:
  static constexpr int64_t kCostEach = 1024;

  explicit Recorded(const Program& program, int steps = 3) {
    for (int step = 0; step < steps; ++step) run_step(program);
    process.duration = Time{now_ + 10};
    done();
  }

 private:
  void run_step(const Program& program) {
    std::vector<NodeId> nodes;
    std::vector<std::array<AllocationId, 2>> saved;
    for (size_t i = 0; i < kLayers; ++i) {
      const Program::Layer& layer = program.layers[i];
      if (modules_.size() <= i) modules_.push_back(module("Net.layers." + std::to_string(i), "Layer"));
      const ModuleCallId call = this->call(now_, now_ + layer.cost() / kCostEach + 100, modules_[i]);
      const OperatorId make = op_in(call, 1, "other::make", {});
      const AllocationId input = made_in(call, layer.input, make);
      const NodeId first = node(++now_, "MakeBackward0", make);
      save(++now_, first, "input", input);
      const OperatorId op = op_in(call, layer.cost() / kCostEach, layer.op, {input});
      const AllocationId result = made_in(call, layer.result, op);
      const NodeId second = node(++now_, "ResultBackward0", op, {}, {first});
      save(++now_, second, "result", result);
      op_in(call, 1, "other::use", {input, result});
      now_ = process.module_calls.end.raw.back() + 1;
      nodes.insert(nodes.end(), {first, second});
      saved.push_back({input, result});
    }
    now_ += 5;
    const int64_t backward_begin = now_;
    for (size_t i = kLayers; i-- > 0;) {
      for (const size_t which : {size_t{1}, size_t{0}}) {
        evaluate(now_ + 1, now_ + 3, nodes[2 * i + which], true);
        now_ += 4;
        free(++now_, saved[i][which]);
      }
    }
    backward(backward_begin, ++now_);
    optimizer_step(now_ + 1, now_ + 2);
    now_ += 5;
  }

  std::vector<ModuleId> modules_;
};

Curve curve(const testing::ProcessBuilder& recorded) {
  const peak::Analysis analysis(recorded.process, recorded.text);
  const peak::DeviceAnalysis device(analysis, kCpu);
  advise::Checks checks = plugins::builtin_checks();
  return curve_of(device, checks);
}

TEST(PlanCurve, NoSetOfSavesIsMuchBetterAtTheSameTime) {
  Random random(20);
  double worst = 1, sum = 0;
  int points = 0;
  for (int i = 0; i < 100; ++i) {
    const Program program(random);
    const Recorded recorded(program);
    const Curve found = curve(recorded);
    ASSERT_GE(found.points.size(), 2u);
    EXPECT_EQ(found.points.front().bytes.value, program.peak(0));
    const int64_t step =
        recorded.process.optimizer_steps[1].when.end.ns - recorded.process.optimizer_steps[0].when.end.ns;
    for (size_t at = 0; at < found.points.size(); ++at) {
      const CurvePoint& point = found.points[at];
      const auto spent = static_cast<int64_t>(point.added * static_cast<double>(step)) + 1;
      const double ratio =
          static_cast<double>(point.bytes.value) / static_cast<double>(program.least_peak(spent * Recorded::kCostEach));
      EXPECT_GE(ratio, 1) << "less than is possible";
      worst = std::max(worst, ratio);
      sum += ratio;
      ++points;
      if (at == 0) continue;
      EXPECT_LT(point.bytes, found.points[at - 1].bytes);
      EXPECT_GE(point.added, found.points[at - 1].added);
    }
  }
  // The budget decides by bytes for each cost, not by the moment of the peak.
  EXPECT_LE(sum / points, 1.05) << "mean";
  EXPECT_LE(worst, 1.3);
}

TEST(PlanCurve, NamesTheLayersAndTheLineToType) {
  Random random(3);
  const Curve found = curve(Recorded(Program(random)));
  ASSERT_TRUE(found.is_worth());
  EXPECT_FALSE(found.is_reserved);
  EXPECT_FALSE(found.is_estimated);
  EXPECT_TRUE(found.points.front().layers.empty());
  EXPECT_EQ(added_text(found, found.points.front()), "no more time");
  const CurvePoint& last = found.points.back();
  ASSERT_FALSE(last.layers.empty());
  EXPECT_TRUE(last.layers.front().module.starts_with("Net.layers.")) << last.layers.front().module;
  EXPECT_EQ(fit_command(last, "python train.py"),
            "tapelens run --fit " + std::to_string(last.bytes.value / kUnit) + "MiB -- python train.py");
  EXPECT_EQ(found.at(last.bytes), &last);
  EXPECT_EQ(found.at(last.bytes - Bytes{1}), nullptr);
  EXPECT_EQ(found.at(found.points.front().bytes), &found.points.front());
}

TEST(PlanCurve, WordsOfALayer) {
  EXPECT_EQ(layer_text({"Net.layers.*.mlp", 10, 24, {}}), "Net.layers.*.mlp (10 of 24)");
  EXPECT_EQ(layer_text({"Net.layers.*.mlp", 24, 24, {}}), "Net.layers.*.mlp (all 24)");
  EXPECT_EQ(layer_text({"Net.head", 1, 1, {}}), "Net.head");
  EXPECT_EQ(layer_text({"", 1, 1, {}}), "outside of modules");
}

TEST(PlanCurve, ARecordingWithRewritesHasNone) {
  Random random(3);
  const Program program(random);
  Recorded recorded(program);
  recorded.rewrite(5, "wide-save", 1, NodeId{1}, "input", kUnit);
  EXPECT_FALSE(curve(recorded).is_worth());
}

// A forged recording: the node of an operator whose inputs are those that its node saved saves the result.
class SavedResult : public testing::ProcessBuilder {
 public:
  SavedResult() {
    int64_t now = 10;
    for (int step = 0; step < 3; ++step) {
      const OperatorId gelu = op(now + 1, now + 3, "aten::gelu");
      const AllocationId result = allocate(now + 2, kUnit, gelu);
      const NodeId made = node(now + 4, "GeluBackward0", gelu);
      save(now + 5, made, "self", result);
      evaluate(now + 7, now + 8, made, true);
      free(now + 9, result);
      backward(now + 6, now + 10);
      optimizer_step(now + 11, now + 12);
      now += 20;
    }
    process.duration = Time{now};
    done();
  }
};

TEST(PlanCurve, AResultThatNeedsItselfIsNotRecomputed) { EXPECT_FALSE(curve(SavedResult()).is_worth()); }

// A costly result that one node saved, and another node's cheap result that is made of it. The backward needs the cheap
// one first, so it makes both then.
class CostlySource : public Layers {
 public:
  static constexpr int64_t kCostly = 4000, kCheap = 1000, kStep = 100'000;

  CostlySource() {
    const ModuleId layer = module("Net.layer", "Layer");
    for (int64_t step = 1; step <= 3; ++step) {
      std::vector<std::pair<NodeId, AllocationId>> saved;
      for (size_t i = 0; i < kLayers; ++i) run_layer(layer, saved);
      const int64_t begin = now_;
      for (; !saved.empty(); saved.pop_back()) {
        evaluate(now_ + 1, now_ + 3, saved.back().first, true);
        free(now_ + 4, saved.back().second);
        now_ += 5;
      }
      backward(begin, now_);
      now_ = 10 + step * kStep;
      optimizer_step(now_ - 3, now_ - 2);
    }
    process.duration = Time{now_ + 10};
    done();
  }

 private:
  void run_layer(ModuleId layer, std::vector<std::pair<NodeId, AllocationId>>& saved) {
    const ModuleCallId call = this->call(now_, now_ + kCostly + kCheap + 100, layer);
    const auto save_by = [&](const char* type, OperatorId op, const char* field, AllocationId allocation) {
      const NodeId made = node(++now_, type, op);
      save(++now_, made, field, allocation);
      saved.emplace_back(made, allocation);
    };
    const OperatorId make = op_in(call, 1, "other::make", {});
    const AllocationId input = made_in(call, kUnit, make);
    save_by("MakeBackward0", make, "input", input);
    const OperatorId softmax = op_in(call, kCostly, "aten::_softmax", {input});
    const AllocationId costly = made_in(call, kUnit, softmax);
    save_by("ResultBackward0", softmax, "result", costly);
    const OperatorId relu = op_in(call, kCheap, "aten::relu", {costly});
    const AllocationId cheap = made_in(call, kUnit, relu);
    save_by("UseBackward0", op_in(call, 1, "other::use", {input, costly, cheap}), "input", cheap);
    now_ = process.module_calls.end.raw.back() + 1;
  }
};

TEST(PlanCurve, AnOperatorThatRunsAgainForTwoSavesCostsItsTimeOnce) {
  const Curve found = curve(CostlySource());
  ASSERT_TRUE(found.is_worth());
  EXPECT_EQ(found.points.back().choice.level, "recompute");
  const auto time_of = [](int64_t each) { return static_cast<double>(kLayers) * static_cast<double>(each); };
  for (const CurvePoint& point : found.points)
    EXPECT_LE(point.added * CostlySource::kStep, time_of(CostlySource::kCostly + CostlySource::kCheap));
  EXPECT_GT(found.points.back().added * CostlySource::kStep, time_of(CostlySource::kCostly) / 2);
}

}  // namespace
}  // namespace tapelens::plan
