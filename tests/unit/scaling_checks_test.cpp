// Checks of patterns that the synthetic recording has not: in a recording that is made up of nothing else each finds
// them, and the time grows linearly with the recording.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/advised_recording.h"
#include "tests/unit/support/doubling.h"

namespace tapelens::advise {
namespace {

using testing::AdvisedRecording;
using testing::kCpu;

constexpr int64_t kLarge = 1 << 20, kSmall = 1 << 10;

struct Training : AdvisedRecording {
  static constexpr int kSteps = 10'000;
  StackId here = stack({frame("train.py", 7, "step")});

  OperatorId run(const std::string& name, const std::vector<AllocationId>& inputs) {
    return AdvisedRecording::run(name, here, inputs);
  }
  AllocationId make(const std::string& name, int64_t bytes, const std::vector<AllocationId>& inputs) {
    return AdvisedRecording::make(name, here, bytes, inputs);
  }
  void drop(AllocationId allocation) { free(now += 10, allocation); }
  void end() {}
};

// Each adds one step, of the `index`th, and then its end.
struct Embedding : Training {
  static constexpr const char* kCheck = "dense-embedding-gradient";
  AllocationId table = make("aten::empty", kLarge, {});
  NodeId leaf = node(++now, "AccumulateGrad", {}, table);
  LayoutId indices = layout("int64", 8, {16});

  void step(int) {
    const OperatorId looked = run("aten::embedding", {table});
    const AllocationId rows = allocate(now + 1, 16 * 64, looked);
    const NodeId made = node(now + 2, "EmbeddingBackward0", looked, {}, {leaf});
    const AllocationId batch = allocate(now + 3, 16 * 8);
    save(now + 3, made, "indices", batch, indices);
    const int64_t begin = now += 10;
    const EvaluationId evaluation = evaluate(begin + 1, begin + 8, made, true);
    const AllocationId gradient = allocate(begin + 2, kLarge, {}, kCpu, evaluation);
    backward(begin, begin + 9);
    drop(gradient), drop(rows), drop(batch);
    optimizer_step(now + 1, now + 2);
    now += 2;
  }
};

struct Foreach : Training {
  static constexpr const char* kCheck = "optimizer-temporaries";

  void step(int) {
    const int64_t begin = now + 1;
    const AllocationId first = make("aten::_foreach_sqrt", kLarge, {});
    const AllocationId second = make("aten::_foreach_div", kLarge, {first});
    drop(first), drop(second);
    optimizer_step(begin, ++now, "AdamW");
  }
};

struct Models : Training {
  static constexpr const char* kCheck = "repeated-model";
  std::vector<AllocationId> all;

  void step(int index) {
    all.push_back(make("aten::empty", kLarge, {}));
    role(now + 2, all.back(), Role::parameter, "net.weight");
    const AllocationId result = make("aten::linear", kSmall, {all.back()});
    drop(result);
    if (index >= 3) drop(all[static_cast<size_t>(index - 3)]);
  }
};

struct Buckets : Training {
  static constexpr const char* kCheck = "ddp-bucket-copy";
  StackId wrapping =
      stack({frame("/x/torch/nn/parallel/distributed.py", 900, "DistributedDataParallel._ddp_init_helper"),
             frame("train.py", 3, "<module>")});
  AllocationId weight = make("aten::empty", kLarge, {});
  AllocationId bucket = AdvisedRecording::make("aten::empty", wrapping, kLarge);

  void step(int) {
    const int64_t begin = now += 10;
    const AllocationId gradient = make("aten::mm", kLarge, {weight});
    role(now + 2, gradient, Role::gradient, "weight", weight);
    backward(begin, now + 8);
    drop(gradient);
  }
};

struct Checkpointed : Training {
  static constexpr const char* kCheck = "checkpoint-segments";
  ModuleId layers[2] = {module("net.0", "Linear"), module("net.1", "Linear")};

  void step(int) {
    const OperatorId forward = run("aten::linear", {});
    const NodeId made = node(now + 2, "AddmmBackward0", forward);
    const int64_t begin = now += 10;
    evaluate(begin + 1, begin + 990, made, true);
    const EvaluationId again = unpack(begin + 2, begin + 500);
    std::vector<AllocationId> recomputed;
    for (const ModuleId layer : layers) {
      const int64_t called = now += 10;
      const ModuleCallId running = call(called, called + 90, layer);
      for (int i = 0; i < 2; ++i) {
        const OperatorId computing = run("aten::linear", {});
        process.operators.module_call.raw.back() = running.value;
        process.operators.evaluation.raw.back() = again.value;
        recomputed.push_back(allocate(now + 1, kLarge, computing, kCpu, again));
      }
      now = called + 90;
    }
    now = begin + 600;
    for (const AllocationId tensor : recomputed) run("aten::mm", {tensor});
    for (const AllocationId tensor : recomputed) drop(tensor);
    backward(begin, now = begin + 1000);
  }
};

struct Restoring : Training {
  static constexpr const char* kCheck = "idle-holder";
  AllocationId batch = make("aten::randn", kSmall, {});
  std::vector<AllocationId> weights;

  Restoring() {
    for (int i = 0; i < 100; ++i) {
      const AllocationId loaded = make("aten::empty", kLarge, {});
      weights.push_back(make("aten::empty", kLarge, {}));
      role(now + 2, weights.back(), Role::parameter, "weight");
      run("aten::copy_", {weights.back(), loaded});
    }
  }
  void step(int index) {
    const OperatorId used = run("aten::linear", {batch, weights[static_cast<size_t>(index) % weights.size()]});
    const AllocationId result = allocate(now + 2, kSmall, used);
    node(now + 3, "AddmmBackward0", used);
    drop(result);
  }
};

// torch.cat(outputs).argmax()
struct Collected : Training {
  static constexpr const char* kCheck = "collected-outputs";
  static constexpr int kSteps = 2'500;

  void step(int) {
    std::vector<AllocationId> outputs;
    for (int i = 0; i < 8; ++i) outputs.push_back(make("aten::linear", kLarge, {}));
    const StackId after = stack({frame("train.py", 9, "step")});
    const AllocationId all = AdvisedRecording::make("aten::cat", after, 8 * kLarge, outputs);
    const AllocationId result = AdvisedRecording::make("aten::argmax", after, kSmall, {all});
    drop(all);
    for (const AllocationId output : outputs) drop(output);
    drop(result);
  }
  void end() { run("aten::randn", {}); }
};

// torch.stack([output.softmax().amax() for output in outputs])
struct CollectedInOneList : Training {
  static constexpr const char* kCheck = "collected-outputs";
  std::vector<AllocationId> outputs;

  void step(int) { outputs.push_back(make("aten::linear", kLarge, {})); }
  void end() {
    const StackId after = stack({frame("train.py", 9, "step")});
    for (const AllocationId output : outputs) {
      const AllocationId shares = AdvisedRecording::make("aten::softmax", after, kLarge, {output});
      AdvisedRecording::make("aten::amax", after, kSmall, {shares});
      drop(shares);
    }
    for (const AllocationId output : outputs) drop(output);
    run("aten::randn", {});
  }
};

// (x[:, None] - y).pow(2).sum(-1)
struct Reduced : Training {
  static constexpr const char* kCheck = "reduced-intermediate";
  AllocationId x = allocate(1, kSmall), y = allocate(2, kSmall);

  void step(int index) {
    const AllocationId difference = make("aten::sub", kLarge, {x, y});
    const AllocationId changed = make(index % 2 == 0 ? "aten::pow" : "aten::clamp", kLarge, {difference});
    const AllocationId sum = make("aten::sum", kSmall, {changed});
    drop(difference), drop(changed), drop(sum);
  }
};

// torch.cat([hidden()[:, 0] for i in range(8)])
struct SmallViews : Training {
  static constexpr const char* kCheck = "small-view";
  static constexpr int kSteps = 2'500;
  StackId there = stack({frame("train.py", 8, "step")});
  LayoutId row = layout("float32", 4, {kSmall / 4});

  void step(int) {
    std::vector<AllocationId> storages;
    for (int i = 0; i < 8; ++i) {
      storages.push_back(make("aten::relu", kLarge, {}));
      AdvisedRecording::run("aten::select", there, {storages.back()});
    }
    const OperatorId joined = run("aten::cat", storages);
    for (size_t i = 0; i < storages.size(); ++i) view(joined, row);
    const AllocationId result = allocate(now + 1, kSmall * 8, joined);
    for (const AllocationId storage : storages) drop(storage);
    drop(result);
  }
};

// outputs.append(model(x)), and no backward
struct NeverDifferentiated : Training {
  static constexpr const char* kCheck = "graph-without-backward";
  NodeId leaf = node(++now, "AccumulateGrad", {}, make("aten::empty", kSmall, {}));
  LayoutId row = layout("float32", 4, {kLarge / 4});

  void step(int) {
    const OperatorId computed = run("aten::relu", {});
    const AllocationId output = allocate(now + 1, kLarge, computed);
    save(now + 3, node(now + 2, "ReluBackward0", computed, {}, {leaf}), "result", output, row);
  }
};

template <class Pattern>
double seconds(int steps) {
  Pattern made;
  for (int i = 0; i < steps; ++i) made.step(i);
  made.end();
  Advice advice;
  const double taken = testing::seconds_of([&] { advice = made.advice(Pattern::kCheck); });
  EXPECT_FALSE(advice.findings.empty());
  return taken;
}

template <class Pattern>
class CheckScaling : public ::testing::Test {};
using Patterns = ::testing::Types<Embedding, Foreach, Models, Buckets, Checkpointed, Restoring, Collected,
                                  CollectedInOneList, Reduced, SmallViews, NeverDifferentiated>;
TYPED_TEST_SUITE(CheckScaling, Patterns);

TYPED_TEST(CheckScaling, GrowsLinearly) {
  testing::expect_linear([](int times) {
    return testing::Costs{{TypeParam::kCheck, seconds<TypeParam>(times * TypeParam::kSteps)}};
  });
}

}  // namespace
}  // namespace tapelens::advise
