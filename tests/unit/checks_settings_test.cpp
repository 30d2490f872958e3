// Memory that a setting or a reference to an old object holds: temporaries of an optimizer's step, models that a line
// makes anew.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/advise/advice.h"
#include "plugins/builtin.h"
#include "testing/model_builder.h"

namespace tapelens::advise {
namespace {

using testing::kCpu;
using testing::ProcessBuilder;

constexpr int64_t kBytes = 1 << 20;

struct Recording : ProcessBuilder {
  StackId here = stack({frame("train.py", 7, "main")});
  int64_t now = 10;

  OperatorId run(const std::string& name, const std::vector<AllocationId>& inputs = {}) {
    now += 10;
    return op(now, now + 5, name, {}, here, inputs);
  }
  AllocationId make(const std::string& name, const std::vector<AllocationId>& inputs = {}) {
    const OperatorId made = run(name, inputs);
    return allocate(now + 1, kBytes, made);
  }
  void drop(AllocationId allocation) { free(++now + 8, allocation); }

  Advice advice(const std::string& check) {
    process.information.push_back({string("torch_version"), string("2.15.0")});
    process.duration = Time{now + 100};
    done();
    Checks checks = plugins::builtin_checks();
    Wanted wanted;
    wanted.checks = {check};
    return advise(peak::DeviceAnalysis(peak::Analysis(process, text), kCpu), checks, wanted);
  }
};

// One step, which takes the root of a moment.
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

// Models of a parameter each, which the line makes one after the other and all of which live to the end.
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
