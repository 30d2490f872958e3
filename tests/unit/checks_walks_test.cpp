// Checks walk over graphs and visit each node and edge only a few times. The graphs are hard for a walk: a ladder with
// exponentially many paths, a tensor that all nodes save, and cycles of edges, which no program can make.
#include <gtest/gtest.h>

#include <ctime>

#include "analyzer/advise/advice.h"
#include "plugins/builtin.h"
#include "testing/model_builder.h"

namespace tapelens::advise {
namespace {

using testing::kCpu;
using testing::ProcessBuilder;

constexpr uint32_t kNodes = 100'000;
constexpr double kMostSeconds = 20;  // processor time of all checks; a quadratic check takes minutes

struct Shape {
  std::vector<std::string> operators, nodes;  // repeated in this order
  int64_t bytes;                              // bytes of each result
  uint32_t steps = 1;
  bool is_forged = false;    // edges lead to arbitrary nodes
  bool is_evaluated = true;  // by one backward at the end
  uint32_t apart = 0;        // nodes of each separate graph; the last node sums all graphs; 0: one graph
  uint32_t backwards = 1;
};

// x[i] = f(x[i - 1], x[i - 2], batch). Each node saves its inputs.
struct Ladder : ProcessBuilder {
  explicit Ladder(const Shape& shape) {
    const StackId here = stack({frame("train.py", 7, "step")});
    const LayoutId view = layout("float32", 4, {static_cast<uint64_t>(shape.bytes / 4)});
    const AllocationId batch = allocate(1, shape.bytes), weight = allocate(2, shape.bytes);
    role(3, weight, Role::parameter, "weight");
    const NodeId leaf = node(4, "AccumulateGrad", {}, weight);
    int64_t now = 10;
    std::vector<AllocationId> made{batch, batch};
    std::vector<NodeId> nodes;
    for (uint32_t i = 0; i < kNodes; ++i, now += 10) {
      if (i % (kNodes / shape.steps) == 0 && i > 0) optimizer_step(now - 2, now - 1);
      const auto& name = shape.operators[i % shape.operators.size()];
      const bool starts = i < 2 || (shape.apart > 0 && i % shape.apart < 2);
      const std::vector<AllocationId> inputs{made[i + 1], starts ? batch : made[i], batch, weight};
      const OperatorId op = this->op(now, now + 5, name, {}, here, inputs);
      for (size_t k = 0; k < inputs.size(); ++k) this->view(op, view);
      const AllocationId out = allocate(now + 1, shape.bytes, op);
      made.push_back(out);
      std::vector<NodeId> edges{leaf};
      if (shape.is_forged) {
        edges = {NodeId{2 + i * 7919 % kNodes}, NodeId{2 + i * 104'729 % kNodes}};
      } else if (!starts) {
        edges = {nodes[i - 1], nodes[i - 2]};
      }
      nodes.push_back(node(now + 2, shape.nodes[i % shape.nodes.size()], op, {}, edges));
      save(now + 3, nodes.back(), "self", inputs[0], view);
      save(now + 3, nodes.back(), "other", batch, view);
    }
    for (uint32_t i = 0; i < shape.backwards && shape.is_evaluated; ++i) {
      const uint32_t count = kNodes / shape.backwards;
      const int64_t begin = now;
      for (uint32_t n = 0; n < count; ++n, now += 4) {
        const bool is_last_time = shape.backwards == 1;
        evaluate(now, now + 2, nodes[kNodes - 1 - n], is_last_time);
        if (is_last_time) free(now + 3, made[kNodes + 1 - n]);
      }
      backward(begin - 1, now++);
    }
    optimizer_step(now + 1, now + 2);
    process.information.push_back({string("torch_version"), string("2.15.0")});
    process.duration = Time{now + 10};
    done();
  }
};

void run_all(const Shape& shape) {
  const Ladder ladder(shape);
  Checks checks = plugins::builtin_checks();
  const std::clock_t begin = std::clock();
  const Advice advice = advise(peak::DeviceAnalysis(peak::Analysis(ladder.process, ladder.text), kCpu), checks, {});
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, kMostSeconds);
  EXPECT_TRUE(advice.refused.empty()) << advice.refused.front();
  EXPECT_EQ(advice.checks.size(), checks.entries().size());
}

const Shape kScalars{{"aten::add"}, {"AddBackward0"}, 4};
const Shape kTensors{
    {"aten::mul", "aten::relu", "aten::clone"}, {"MulBackward0", "ReluBackward0", "CloneBackward0"}, 65536};
const Shape kAttention{{"aten::bmm", "aten::div", "aten::_softmax", "aten::mul"},
                       {"BmmBackward0", "DivBackward0", "SoftmaxBackward0", "MulBackward0"},
                       65536};
const Shape kJoined{{"aten::cat", "aten::copy_", "aten::scatter_"}, {"CatBackward0"}, 65536};

Shape forged(Shape shape) {
  shape.is_forged = true;
  return shape;
}
Shape never_differentiated(Shape shape) {
  shape.is_evaluated = false;
  return shape;
}
Shape in_steps(Shape shape, uint32_t steps) {
  shape.steps = steps;
  return shape;
}

TEST(Walks, AScalarRecurrence) { run_all(kScalars); }
TEST(Walks, AScalarRecurrenceWithForgedEdges) { run_all(forged(kScalars)); }
TEST(Walks, TensorsThatAllReadOne) { run_all(kTensors); }
TEST(Walks, TensorsWithForgedEdges) { run_all(forged(kTensors)); }
TEST(Walks, AttentionUponAttention) { run_all(kAttention); }
TEST(Walks, ConcatenationsOfConcatenations) { run_all(kJoined); }
TEST(Walks, AGraphThatIsNeverDifferentiated) { run_all(never_differentiated(kTensors)); }
TEST(Walks, AForgedGraphThatIsNeverDifferentiated) { run_all(never_differentiated(forged(kScalars))); }
TEST(Walks, AGraphThatGrowsFromStepToStep) { run_all(in_steps(kTensors, 1000)); }
TEST(Walks, AForgedGraphOverManySteps) { run_all(in_steps(forged(kTensors), 1000)); }
TEST(Walks, ManyBackwardsOverOneGraph) {
  Shape shape = kScalars;
  shape.backwards = 1000;
  run_all(shape);
}
TEST(Walks, ASumOfManyGraphs) {
  Shape shape = kTensors;
  shape.apart = 10;
  run_all(shape);
}

}  // namespace
}  // namespace tapelens::advise
