// Outputs that a program collects before it reduces them, and one-hot tensors: the findings in made recordings.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/advised_recording.h"

namespace tapelens::advise {
namespace {

using testing::AdvisedRecording;

constexpr int64_t kLarge = 1 << 20, kSmall = 1 << 10;

struct Recording : AdvisedRecording {
  StackId loop = stack({frame("evaluate.py", 7, "evaluate")}), end = stack({frame("evaluate.py", 9, "evaluate")});

  std::vector<AllocationId> outputs(int count) {
    std::vector<AllocationId> made;
    for (int i = 0; i < count; ++i) made.push_back(make("aten::linear", loop, kLarge, {}));
    return made;
  }
  // torch.cat(outputs).OPERATOR()
  void reduce(const std::vector<AllocationId>& outputs, const std::string& operation, int64_t kept = kSmall) {
    const AllocationId all = make("aten::cat", end, kLarge * static_cast<int64_t>(outputs.size()), outputs);
    const AllocationId result = make(operation, end, kept, {all});
    drop(all);
    for (const AllocationId output : outputs) drop(output);
    drop(result);
  }

  Advice advice(const std::string& check) {
    run("aten::randn", end);  // the program goes on
    return AdvisedRecording::advice(check);
  }
};

TEST(CollectedOutputs, EachIsReducedInItsIteration) {
  Recording recording;
  recording.reduce(recording.outputs(8), "aten::argmax");
  const Advice advice = recording.advice("collected-outputs");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].bytes.value, 8 * kLarge);
  EXPECT_LT(advice.findings[0].peak_after.value, 3 * kLarge);
}

TEST(CollectedOutputs, ALoopOverTheListReducesThemToo) {
  Recording recording;
  const std::vector<AllocationId> outputs = recording.outputs(8);
  for (const AllocationId output : outputs) recording.make("aten::argmax", recording.end, kSmall, {output});
  for (const AllocationId output : outputs) recording.drop(output);
  EXPECT_EQ(recording.advice("collected-outputs").findings.size(), 1u);
}

TEST(CollectedOutputs, OutputsOfManyIterationsAreSmallPartsOfTheList) {
  constexpr int kCount = 5'000;
  Recording recording;
  recording.reduce(recording.outputs(kCount), "aten::argmax");
  const Advice advice = recording.advice("collected-outputs");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].bytes.value, kCount * kLarge);
}

TEST(CollectedOutputs, AnyOperatorThatReadsOneOutputCanRunInTheLoop) {
  Recording recording;
  const std::vector<AllocationId> outputs = recording.outputs(8);
  for (const AllocationId output : outputs) {
    const AllocationId sorted = recording.make("aten::sort", recording.end, kLarge, {output});
    recording.make("aten::std", recording.end, kSmall, {sorted, output});
    recording.drop(sorted);
  }
  for (const AllocationId output : outputs) recording.drop(output);
  EXPECT_EQ(recording.advice("collected-outputs").findings.size(), 1u);
}

TEST(CollectedOutputs, AnOperatorThatReadsTwoOutputsCannot) {
  Recording recording;
  const std::vector<AllocationId> outputs = recording.outputs(8);
  for (size_t i = 1; i < outputs.size(); ++i)
    recording.make("aten::dot", recording.end, kSmall, {outputs[i], outputs[i - 1]});
  for (const AllocationId output : outputs) recording.drop(output);
  EXPECT_TRUE(recording.advice("collected-outputs").findings.empty());
}

TEST(CollectedOutputs, ACurveOfTorchmetricsCanCountInBins) {
  const std::string packages = "/usr/lib/python3/site-packages/torchmetrics/functional/classification/";
  for (const std::string file : {"auroc.py", "dice.py"}) {
    Recording recording;
    recording.end = recording.stack(
        {recording.frame((packages + file).c_str(), 80, "compute"), recording.frame("evaluate.py", 9, "f")});
    const std::vector<AllocationId> outputs = recording.outputs(8);
    const AllocationId all = recording.make("aten::cat", recording.end, 8 * kLarge, outputs);
    const AllocationId sorted = recording.make("aten::sort", recording.end, 8 * kLarge, {all});
    const AllocationId result = recording.make("aten::trapz", recording.end, kSmall, {sorted});
    for (const AllocationId one : {sorted, all, result}) recording.drop(one);
    for (const AllocationId output : outputs) recording.drop(output);
    const Advice advice = recording.advice("collected-outputs");
    ASSERT_EQ(advice.findings.size(), file == "auroc.py" ? 1u : 0u) << file;
    if (advice.findings.empty()) continue;
    EXPECT_NE(advice.findings[0].fix.text.find("thresholds=N"), std::string::npos);
    EXPECT_LT(advice.findings[0].peak_after.value, 11 * kLarge);
  }
}

TEST(IdleHolder, AListThatTheProgramJoinedCountsAsOneTensor) {
  constexpr int64_t kPart = 1 << 16;
  const auto entries = [](const char* joining) {
    Recording recording;
    const StackId join = recording.stack({recording.frame(joining, 9, "join"), recording.frame("evaluate.py", 8, "f")});
    std::vector<AllocationId> parts;
    for (int i = 0; i < 32; ++i) parts.push_back(recording.make("aten::linear", recording.loop, kPart));
    recording.drop(recording.make("aten::stack", join, 32 * kPart, parts));
    for (int i = 0; i < 8; ++i) recording.drop(recording.make("aten::exp", recording.end, kPart));
    recording.drop(recording.make("aten::exp", recording.end, 4 * kLarge));
    for (const AllocationId part : parts) recording.drop(part);
    return recording.advice("idle-holder").findings.size();
  };
  EXPECT_EQ(entries("evaluate.py"), 1u);
  EXPECT_EQ(entries("/usr/lib/python3/site-packages/torchmetrics/metric.py"), 0u);
}

TEST(IdleHolder, VariablesOfOneFunctionAreOneEntry) {
  Recording recording;
  const auto line = [&](uint32_t number) { return recording.stack({recording.frame("boxes.py", number, "overlap")}); };
  const AllocationId left = recording.make("aten::max", line(3), kLarge);
  const AllocationId right = recording.make("aten::min", line(4), kLarge);
  for (const AllocationId one : {left, right}) recording.run("aten::sub", line(5), {one});
  for (int i = 0; i < 8; ++i) recording.drop(recording.make("aten::mul", line(6), kLarge));
  recording.drop(left), recording.drop(right);
  const Advice advice = recording.advice("idle-holder");
  EXPECT_EQ(advice.findings.size(), 2u);
  EXPECT_EQ(advice.entries.size(), 1u);
}

TEST(CollectedOutputs, AProductNeedsAllOutputs) {
  Recording recording;
  recording.reduce(recording.outputs(8), "aten::mm");
  EXPECT_TRUE(recording.advice("collected-outputs").findings.empty());
}

TEST(CollectedOutputs, ALargeResultIsNotAReduction) {
  Recording recording;
  recording.reduce(recording.outputs(8), "aten::softmax", 8 * kLarge);
  EXPECT_TRUE(recording.advice("collected-outputs").findings.empty());
}

TEST(CollectedOutputs, AModelReadsThemWithItsParameters) {
  Recording recording;
  const AllocationId weight = recording.allocate(1, kSmall);
  recording.role(2, weight, Role::parameter, "head.weight");
  const std::vector<AllocationId> outputs = recording.outputs(8);
  const AllocationId all = recording.make("aten::cat", recording.end, 8 * kLarge, outputs);
  const AllocationId result = recording.make("aten::mul", recording.end, kSmall, {all, weight});
  recording.drop(all), recording.drop(result);
  for (const AllocationId output : outputs) recording.drop(output);
  EXPECT_TRUE(recording.advice("collected-outputs").findings.empty());
}

TEST(CollectedOutputs, AnOutputThatTheNextIterationReadsIsInUse) {
  Recording recording;
  std::vector<AllocationId> outputs = {recording.make("aten::linear", recording.loop, kLarge, {})};
  for (int i = 0; i < 8; ++i) {
    outputs.push_back(recording.make("aten::linear", recording.loop, kLarge, {outputs.back()}));
    if (i > 0) recording.drop(outputs[static_cast<size_t>(i) - 1]);
  }
  EXPECT_TRUE(recording.advice("collected-outputs").findings.empty());
}

TEST(OneHot, AnEmbeddingReadsTheIndices) {
  Recording recording;
  const AllocationId ids = recording.allocate(1, 64), table = recording.allocate(2, kSmall);
  const AllocationId hot = recording.make("aten::one_hot", recording.loop, 2 * kLarge, {ids});
  const AllocationId cast = recording.make("aten::to", recording.loop, kLarge, {hot});
  recording.drop(hot);
  const AllocationId rows = recording.make("aten::matmul", recording.loop, kSmall, {cast, table});
  recording.drop(cast), recording.drop(rows);
  const Advice advice = recording.advice("reduced-intermediate");
  ASSERT_FALSE(advice.findings.empty());
  EXPECT_NE(advice.findings[0].fix.text.find("embedding"), std::string::npos);
  EXPECT_LT(advice.findings[0].peak_after.value, 4 * kSmall);
}

TEST(OneHot, AnotherReaderNeedsTheTensor) {
  Recording recording;
  const AllocationId ids = recording.allocate(1, 64), table = recording.allocate(2, kSmall);
  const AllocationId hot = recording.make("aten::one_hot", recording.loop, kLarge, {ids});
  const AllocationId rows = recording.make("aten::matmul", recording.loop, kSmall, {hot, table});
  recording.run("aten::conv1d", recording.loop, {hot});
  recording.drop(hot), recording.drop(rows);
  for (const Finding& finding : recording.advice("reduced-intermediate").findings) {
    EXPECT_EQ(finding.fix.text.find("embedding"), std::string::npos);
  }
}

TEST(OneHot, OnTheRightSideOfAProductItAddsUpByClass) {
  Recording recording;
  const AllocationId ids = recording.allocate(1, 64), weights = recording.allocate(2, kSmall);
  const AllocationId hot = recording.make("aten::one_hot", recording.loop, kLarge, {ids});
  const AllocationId sums = recording.make("aten::matmul", recording.loop, kSmall, {weights, hot});
  recording.drop(hot), recording.drop(sums);
  for (const Finding& finding : recording.advice("reduced-intermediate").findings) {
    EXPECT_EQ(finding.fix.text.find("embedding"), std::string::npos);
  }
}

TEST(OneHot, TransposedItAddsUpByClass) {
  Recording recording;
  const AllocationId ids = recording.allocate(1, 64), features = recording.allocate(2, kSmall);
  const AllocationId hot = recording.make("aten::one_hot", recording.loop, kLarge, {ids});
  recording.run("aten::t", recording.loop, {hot});
  const AllocationId sums = recording.make("aten::matmul", recording.loop, kSmall, {hot, features});
  recording.drop(hot), recording.drop(sums);
  for (const Finding& finding : recording.advice("reduced-intermediate").findings) {
    EXPECT_EQ(finding.fix.text.find("embedding"), std::string::npos);
  }
}

TEST(ExpandedSave, AMaskOfEachHeadRepeatsTheMaskOfAllHeads) {
  Recording recording;
  const AllocationId pattern = recording.make("aten::triu", recording.loop, kSmall, {});
  const AllocationId zeros = recording.make("aten::zeros", recording.loop, kLarge, {});
  const AllocationId mask = recording.make("aten::masked_fill", recording.loop, kLarge, {zeros, pattern});
  recording.drop(zeros), recording.drop(mask);
  const Advice advice = recording.advice("expanded-save");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_FALSE(advice.findings[0].is_proved);
  EXPECT_LT(advice.findings[0].peak_after.value, 16 * kSmall);
}

TEST(ExpandedSave, TwoPatternsMayDifferInEachElement) {
  Recording recording;
  const AllocationId rows = recording.make("aten::arange", recording.loop, kSmall, {});
  const AllocationId columns = recording.make("aten::arange", recording.loop, kSmall, {});
  const AllocationId zeros = recording.make("aten::zeros", recording.loop, kLarge, {});
  const AllocationId mask = recording.make("aten::where", recording.loop, kLarge, {rows, zeros, columns});
  recording.drop(zeros), recording.drop(mask);
  EXPECT_TRUE(recording.advice("expanded-save").findings.empty());
}

TEST(ExpandedSave, RepeatInterleaveRepeatsItsInput) {
  Recording recording;
  const AllocationId source = recording.make("aten::linear", recording.loop, kSmall, {});
  const AllocationId copy = recording.make("aten::repeat_interleave", recording.loop, kLarge, {source});
  recording.run("aten::matmul", recording.loop, {copy});
  recording.drop(copy), recording.drop(source);
  const Advice advice = recording.advice("expanded-save");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_LT(advice.findings[0].peak_after.value, 2 * kSmall);
}

// torch.stack([output.softmax().amax() for output in outputs]): a tensor of each output's size is made for each.
void reduce_each(Recording& recording, int count) {
  const std::vector<AllocationId> outputs = recording.outputs(count);
  for (const AllocationId output : outputs) {
    const AllocationId shares = recording.make("aten::softmax", recording.end, kLarge, {output});
    recording.make("aten::amax", recording.end, kSmall, {shares});
    recording.drop(shares);
  }
  for (const AllocationId output : outputs) recording.drop(output);
}

TEST(CollectedOutputs, TemporariesOfEachOutputExistForOneAtATime) {
  Recording recording;
  reduce_each(recording, 16);
  const Advice advice = recording.advice("collected-outputs");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_LT(advice.findings[0].peak_after.value, 3 * kLarge);
  EXPECT_GE(advice.findings[0].peak_after.value, 2 * kLarge);
}

}  // namespace
}  // namespace tapelens::advise
