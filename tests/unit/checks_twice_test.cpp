// Checks of patterns that the synthetic recording has not: in a recording that is made up of nothing else each finds
// them, and in twice as long a recording in about twice the time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "plugins/builtin.h"
#include "testing/model_builder.h"
#include "tests/unit/support/doubling.h"

namespace tapelens::advise {
namespace {

using testing::kCpu;
using testing::ProcessBuilder;

constexpr int64_t kLarge = 1 << 20, kSmall = 1 << 10;

struct Training : ProcessBuilder {
  StackId here = stack({frame("train.py", 7, "step")});
  int64_t now = 10;

  OperatorId run(const std::string& name, const std::vector<AllocationId>& inputs, StackId line) {
    now += 10;
    return op(now, now + 5, name, {}, line, inputs);
  }
  AllocationId make(const std::string& name, int64_t bytes, const std::vector<AllocationId>& inputs, StackId line) {
    const OperatorId made = run(name, inputs, line);
    return allocate(now + 1, bytes, made);
  }
  void drop(AllocationId allocation) { free(now += 10, allocation); }
};

// Each adds one step, of the `index`th.
struct Embedding : Training {
  static constexpr const char* kCheck = "dense-embedding-gradient";
  AllocationId table = make("aten::empty", kLarge, {}, here);
  NodeId leaf = node(++now, "AccumulateGrad", {}, table);
  LayoutId indices = layout("int64", 8, {16});

  void step(int) {
    const OperatorId looked = run("aten::embedding", {table}, here);
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
    const AllocationId first = make("aten::_foreach_sqrt", kLarge, {}, here);
    const AllocationId second = make("aten::_foreach_div", kLarge, {first}, here);
    drop(first), drop(second);
    optimizer_step(begin, ++now, "AdamW");
  }
};

struct Models : Training {
  static constexpr const char* kCheck = "repeated-model";
  std::vector<AllocationId> all;

  void step(int index) {
    all.push_back(make("aten::empty", kLarge, {}, here));
    role(now + 2, all.back(), Role::parameter, "net.weight");
    const AllocationId result = make("aten::linear", kSmall, {all.back()}, here);
    drop(result);
    if (index >= 3) drop(all[static_cast<size_t>(index - 3)]);
  }
};

struct Buckets : Training {
  static constexpr const char* kCheck = "ddp-bucket-copy";
  StackId wrapping =
      stack({frame("/x/torch/nn/parallel/distributed.py", 900, "DistributedDataParallel._ddp_init_helper"),
             frame("train.py", 3, "<module>")});
  AllocationId weight = make("aten::empty", kLarge, {}, here);
  AllocationId bucket = make("aten::empty", kLarge, {}, wrapping);

  void step(int) {
    const int64_t begin = now += 10;
    const AllocationId gradient = make("aten::mm", kLarge, {weight}, here);
    role(now + 2, gradient, Role::gradient, "weight", weight);
    backward(begin, now + 8);
    drop(gradient);
  }
};

struct Checkpointed : Training {
  static constexpr const char* kCheck = "checkpoint-segments";
  ModuleId layers[2] = {module("net.0", "Linear"), module("net.1", "Linear")};

  void step(int) {
    const OperatorId forward = run("aten::linear", {}, here);
    const NodeId made = node(now + 2, "AddmmBackward0", forward);
    const int64_t begin = now += 10;
    evaluate(begin + 1, begin + 990, made, true);
    const EvaluationId again = unpack(begin + 2, begin + 500);
    std::vector<AllocationId> recomputed;
    for (const ModuleId layer : layers) {
      const int64_t called = now += 10;
      const ModuleCallId running = call(called, called + 90, layer);
      for (int i = 0; i < 2; ++i) {
        const OperatorId computing = run("aten::linear", {}, here);
        process.operators.module_call.raw.back() = running.value;
        process.operators.evaluation.raw.back() = again.value;
        recomputed.push_back(allocate(now + 1, kLarge, computing, kCpu, again));
      }
      now = called + 90;
    }
    now = begin + 600;
    for (const AllocationId tensor : recomputed) run("aten::mm", {tensor}, here);
    for (const AllocationId tensor : recomputed) drop(tensor);
    backward(begin, now = begin + 1000);
  }
};

struct Restoring : Training {
  static constexpr const char* kCheck = "idle-holder";
  AllocationId batch = make("aten::randn", kSmall, {}, here);
  std::vector<AllocationId> weights;

  Restoring() {
    for (int i = 0; i < 100; ++i) {
      const AllocationId loaded = make("aten::empty", kLarge, {}, here);
      weights.push_back(make("aten::empty", kLarge, {}, here));
      role(now + 2, weights.back(), Role::parameter, "weight");
      run("aten::copy_", {weights.back(), loaded}, here);
    }
  }
  void step(int index) {
    const OperatorId used = run("aten::linear", {batch, weights[static_cast<size_t>(index) % weights.size()]}, here);
    const AllocationId result = allocate(now + 2, kSmall, used);
    node(now + 3, "AddmmBackward0", used);
    drop(result);
  }
};

struct Done {
  Advice advice;
  double seconds = 0;
};

template <class Pattern>
Done advised(int steps) {
  Pattern made;
  for (int i = 0; i < steps; ++i) made.step(i);
  made.process.information.push_back({made.string("torch_version"), made.string("2.15.0")});
  made.process.duration = Time{made.now + 100};
  made.done();
  Checks checks = plugins::builtin_checks();
  AdviceOptions wanted;
  wanted.checks = {Pattern::kCheck};
  Done done;
  done.seconds = testing::seconds_of([&] {
    done.advice = advise(peak::DeviceAnalysis(peak::Analysis(made.process, made.text), kCpu), checks, wanted);
  });
  return done;
}

template <class Pattern>
double seconds(int steps) {
  const Done done = advised<Pattern>(steps);
  EXPECT_FALSE(done.advice.findings.empty());
  return done.seconds;
}

template <class Pattern>
class Doubling : public ::testing::Test {};
using Patterns = ::testing::Types<Embedding, Foreach, Models, Buckets, Checkpointed, Restoring>;
TYPED_TEST_SUITE(Doubling, Patterns);

TYPED_TEST(Doubling, TwiceTheRecordingTakesAboutTwiceTheTime) {
  constexpr int kSteps = 20'000;
  testing::expect_linear([](int times) {
    return testing::Costs{{TypeParam::kCheck, seconds<TypeParam>(times * kSteps)}};
  });
}

}  // namespace
}  // namespace tapelens::advise
