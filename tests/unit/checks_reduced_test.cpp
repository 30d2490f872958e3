// Checks for large intermediates with small inputs and small results, and for small views of large storages. Made
// recordings show the findings.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/support/advised_recording.h"

namespace tapelens::advise {
namespace {

using testing::AdvisedRecording;

constexpr int64_t kLarge = 1 << 20, kSmall = 1 << 10;

struct Recording : AdvisedRecording {
  StackId here = stack({frame("pairs.py", 7, "step")}), there = stack({frame("pairs.py", 8, "step")});
  LayoutId row = layout("float32", 4, {kSmall / 4});

  AllocationId make(const std::string& name, int64_t bytes, const std::vector<AllocationId>& inputs) {
    return AdvisedRecording::make(name, here, bytes, inputs);
  }

  // (x[:, None] - y).OPERATOR().sum(-1)
  void differences(AllocationId x, AllocationId y, const std::string& operation, int64_t kept = kSmall) {
    const AllocationId difference = make("aten::sub", kLarge, {x, y});
    const AllocationId changed = make(operation, kLarge, {difference});
    const AllocationId sum = make("aten::sum", kept, {changed});
    drop(difference), drop(changed), drop(sum);
  }
  // found.append(hidden[:, 0]), and torch.cat of some views.
  void views(int count) {
    std::vector<AllocationId> storages;
    for (int i = 0; i < count; ++i) {
      storages.push_back(make("aten::relu", kLarge, {}));
      run("aten::select", there, {storages.back()});
    }
    const OperatorId joined = run("aten::cat", there, storages);
    for (int i = 0; i < count; ++i) view(joined, row);
    allocate(now + 1, kSmall * count, joined);
    for (const AllocationId storage : storages) drop(storage);
  }
};

TEST(ReducedIntermediate, DifferencesOfAllPairsThatAreSquaredAndSummedAreNeverMade) {
  Recording recording;
  const AllocationId x = recording.allocate(1, kSmall), y = recording.allocate(2, kSmall);
  recording.differences(x, y, "aten::pow");
  const Advice advice = recording.advice("reduced-intermediate");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].bytes.value, 2 * kLarge);
  EXPECT_LT(advice.findings[0].peak_after.value, 8 * kSmall);
}

TEST(ReducedIntermediate, OtherBroadcastsAreThereInChunks) {
  Recording recording;
  const AllocationId x = recording.allocate(1, kSmall), y = recording.allocate(2, kSmall);
  recording.differences(x, y, "aten::clamp");
  const Advice advice = recording.advice("reduced-intermediate");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_FALSE(advice.findings[0].is_proved);
  EXPECT_NEAR(static_cast<double>(advice.findings[0].peak_after.value), 2 * kLarge / 16.0, 8 * kSmall);
}

TEST(ReducedIntermediate, AResultOfThatSizeIsKept) {
  Recording recording;
  const AllocationId x = recording.allocate(1, kSmall), y = recording.allocate(2, kSmall);
  recording.differences(x, y, "aten::pow", kLarge / 4);
  EXPECT_TRUE(recording.advice("reduced-intermediate").findings.empty());
}

TEST(ReducedIntermediate, WhatIsMadeOfLargeInputsIsNoBroadcast) {
  Recording recording;
  const AllocationId x = recording.allocate(1, kLarge), y = recording.allocate(2, kSmall);
  recording.differences(x, y, "aten::clamp");
  EXPECT_TRUE(recording.advice("reduced-intermediate").findings.empty());
}

TEST(ReducedIntermediate, WhatAnOperatorOfALayerMakesIsTheModels) {
  Recording recording;
  const AllocationId x = recording.allocate(1, kSmall), weight = recording.allocate(2, kSmall);
  const AllocationId hidden = recording.make("aten::linear", kLarge, {x, weight});
  const AllocationId result = recording.make("aten::linear", kSmall, {hidden, weight});
  recording.drop(hidden), recording.drop(result);
  EXPECT_TRUE(recording.advice("reduced-intermediate").findings.empty());
}

TEST(SmallView, StoragesOfWhichOneViewIsReadEndWhenTheLoopHasTheNext) {
  Recording recording;
  recording.views(8);
  const Advice advice = recording.advice("small-view");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_LT(advice.findings[0].peak_after.value, 3 * kLarge);
}

TEST(SmallView, StoragesOfManyIterationsAreSmallPartsOfThePeak) {
  constexpr int kCount = 10'000;
  Recording recording;
  recording.views(kCount);
  const Advice advice = recording.advice("small-view");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_LT(advice.findings[0].peak_after.value, 3 * kLarge + 2 * kCount * kSmall);  // copies, and their concatenation
}

// k = torch.cat([k, x]); found.append(k[-1]): the next iteration reads the whole storage, and then none does.
TEST(SmallView, TheNextIterationMayReadTheWholeStorage) {
  Recording recording;
  const LayoutId whole = recording.layout("float32", 4, {kLarge / 4});
  std::vector<AllocationId> storages;
  for (int i = 0; i < 8; ++i) {
    const OperatorId joined = recording.run(
        "aten::cat", recording.here, storages.empty() ? std::vector<AllocationId>{} : std::vector{storages.back()});
    if (!storages.empty()) recording.view(joined, whole);
    storages.push_back(recording.allocate(recording.now + 1, kLarge, joined));
    recording.run("aten::select", recording.there, {storages.back()});
  }
  const OperatorId stacked = recording.run("aten::stack", recording.there, storages);
  for (size_t i = 0; i < storages.size(); ++i) recording.view(stacked, recording.row);
  recording.allocate(recording.now + 1, kSmall * 8, stacked);
  for (const AllocationId storage : storages) recording.drop(storage);
  const Advice advice = recording.advice("small-view");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_LT(advice.findings[0].peak_after.value, 3 * kLarge);
}

TEST(SmallView, OneStorageMayBeInAVariable) {
  Recording recording;
  recording.views(1);
  EXPECT_TRUE(recording.advice("small-view").findings.empty());
}

}  // namespace
}  // namespace tapelens::advise
