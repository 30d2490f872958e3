// A change of a line changes all that the line makes: many tensors count together if they are alive at one time, even
// if each is a small part of the peak.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/advised_recording.h"

namespace tapelens::advise {
namespace {

using testing::AdvisedRecording;
using testing::kCpu;

constexpr int64_t kLarge = 1 << 20, kSmall = 1 << 10;
constexpr int kMany = 500;

struct Recording : AdvisedRecording {
  FrameId call = frame("evaluate.py", 7, "evaluate");
  StackId line = stack({call});
  NodeId leaf = node(++now, "AccumulateGrad", {}, make("aten::empty", line, kSmall));
  LayoutId row = layout("float32", 4, {kLarge / 4});

  // output = model(x): its graph dies with it.
  void forward(bool is_kept) {
    const OperatorId computed = run("aten::relu", line);
    const AllocationId output = allocate(now + 1, kLarge, computed);
    const NodeId made = node(now + 2, "ReluBackward0", computed, {}, {leaf});
    save(now + 3, made, "result", output, row);
    if (is_kept) return;
    now += 10;
    release(now, made);
    free(now + 1, output);
  }
};

TEST(Lines, OutputsOfManyIterationsKeepAGraphEach) {
  Recording recording;
  for (int i = 0; i < kMany; ++i) recording.forward(true);
  const Advice advice = recording.advice("graph-without-backward");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].bytes.value, kMany * kLarge);
}

TEST(Lines, GraphsOfManyIterationsThatEndWithTheirIterationAreSmall) {
  Recording recording;
  const AllocationId other = recording.make("aten::empty", recording.line, kMany * kLarge);
  for (int i = 0; i < kMany; ++i) recording.forward(false);
  recording.drop(other);
  EXPECT_TRUE(recording.advice("graph-without-backward").findings.empty());
}

// log_probabilities.append(d.log_prob(a)); values.append(value(s)), and a backward of the first
TEST(Lines, AModuleOfALineCanBeTheOnlyOneWithoutABackward) {
  Recording recording;
  const StackId inside = recording.stack(
      {recording.frame("/x/site-packages/torch/nn/modules/module.py", 1, "Module._call_impl"), recording.call});
  const auto node = [&](StackId stack) {
    const OperatorId computed = recording.run("aten::relu", stack);
    const AllocationId output = recording.allocate(recording.now + 1, kLarge, computed);
    const NodeId made = recording.node(recording.now + 2, "ReluBackward0", computed, {}, {recording.leaf});
    recording.save(recording.now + 3, made, "result", output, recording.row);
    return made;
  };
  const NodeId needed = node(recording.line);
  node(inside);
  const int64_t begin = recording.now += 10;
  recording.evaluate(begin + 1, begin + 5, needed, true);
  recording.backward(begin, recording.now += 8);
  const Advice advice = recording.advice("graph-without-backward");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].title, "forward with gradients enabled, but no backward()");
  EXPECT_NE(advice.findings[0].fix.text.find("a separate statement"), std::string::npos) << advice.findings[0].fix.text;
}

// sum(embedding(x) for embedding in tables): dense gradients of all of them.
TEST(Lines, ManyTablesHaveDenseGradients) {
  Recording recording;
  const LayoutId indices = recording.layout("int64", 8, {16});
  std::vector<AllocationId> gradients;
  std::vector<NodeId> nodes;
  for (int i = 0; i < 32; ++i) {
    const AllocationId table = recording.make("aten::empty", recording.line, kLarge);
    const NodeId leaf = recording.node(recording.now + 1, "AccumulateGrad", {}, table);
    const OperatorId looked = recording.run("aten::embedding", recording.line, {table});
    recording.allocate(recording.now + 1, 16 * 64, looked);
    nodes.push_back(recording.node(recording.now + 2, "EmbeddingBackward0", looked, {}, {leaf}));
    const AllocationId batch = recording.allocate(recording.now + 3, 16 * 8);
    recording.save(recording.now + 3, nodes.back(), "indices", batch, indices);
  }
  const int64_t begin = recording.now += 10;
  for (const NodeId node : nodes) {
    const EvaluationId evaluation = recording.evaluate(recording.now + 1, recording.now + 8, node, true);
    gradients.push_back(recording.allocate(recording.now + 2, kLarge, {}, kCpu, evaluation));
    recording.now += 10;
  }
  recording.backward(begin, recording.now);
  for (const AllocationId gradient : gradients) recording.drop(gradient);
  const Advice advice = recording.advice("dense-embedding-gradient");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].bytes.value, 32 * kLarge);
}

}  // namespace
}  // namespace tapelens::advise
