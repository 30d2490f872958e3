// Memory that a setting or a reference to an old object holds: temporaries of an optimizer's step, and old models of a
// line that makes a new one.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/support/advised_recording.h"

namespace tapelens::advise {
namespace {

using testing::AdvisedRecording;

constexpr int64_t kBytes = 1 << 20;

struct Recording : AdvisedRecording {
  StackId here = stack({frame("train.py", 7, "main")});

  OperatorId run(const std::string& name, const std::vector<AllocationId>& inputs = {}) {
    return AdvisedRecording::run(name, here, inputs);
  }
  AllocationId make(const std::string& name, const std::vector<AllocationId>& inputs = {}) {
    return AdvisedRecording::make(name, here, kBytes, inputs);
  }
};

// Advice for one optimizer step, which computes the square root of a moment.
Advice advice_of_step(const std::string& root) {
  Recording recording;
  const AllocationId parameter = recording.make("aten::empty"), moment = recording.make("aten::zeros");
  recording.role(recording.now + 2, parameter, Role::parameter, "weight");
  const int64_t begin = recording.now + 6;
  const AllocationId made = recording.make(root, {moment});
  recording.run("aten::_foreach_addcdiv_", {parameter, moment, made});
  recording.drop(made);
  recording.optimizer_step(begin, recording.now + 20);
  recording.now += 20;
  return recording.advice("optimizer-temporaries");
}

TEST(OptimizerTemporaries, IntermediatesOfListsAreNeverMadeByAFusedStep) {
  const Advice advice = advice_of_step("aten::_foreach_sqrt");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].peak_before.value, 3 * kBytes);
  EXPECT_EQ(advice.findings[0].peak_after.value, 2 * kBytes);
}

TEST(OptimizerTemporaries, ThoseOfOneParameterAtATimeStay) {
  EXPECT_TRUE(advice_of_step("aten::sqrt").findings.empty());
}

// Advice for models of one parameter each. One line makes them one after the other, and all live to the end.
Advice advice_of_models(int count, bool are_used_at_the_end) {
  Recording recording;
  std::vector<AllocationId> models;
  for (int i = 0; i < count; ++i) {
    models.push_back(recording.make("aten::empty"));
    recording.role(recording.now + 2, models.back(), Role::parameter, "weight");
    recording.run("aten::mm", {models.back()});
  }
  if (are_used_at_the_end) recording.run("aten::stack", models);
  for (const AllocationId model : models) recording.drop(model);
  return recording.advice("repeated-model");
}

TEST(RepeatedModel, OldOnesEndWhenTheNextIsComplete) {
  const Advice advice = advice_of_models(5, false);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].peak_before.value, 5 * kBytes);
  EXPECT_EQ(advice.findings[0].peak_after.value, 2 * kBytes);
}

TEST(RepeatedModel, OneMayBeInTheVariableThatGetsTheNext) { EXPECT_TRUE(advice_of_models(2, false).findings.empty()); }
TEST(RepeatedModel, AnEnsembleIsUsed) { EXPECT_TRUE(advice_of_models(5, true).findings.empty()); }

}  // namespace
}  // namespace tapelens::advise
