// If a program is cut short, its next actions are unknown. This concerns tensors that were made since the last step and
// are still alive then.
#include <gtest/gtest.h>

#include "analyzer/check/interruptions.h"
#include "testing/model_builder.h"

namespace tapelens::check {
namespace {

using namespace model;
using tapelens::testing::kCuda;
using tapelens::testing::ProcessBuilder;

constexpr Time t(int64_t ns) { return Time{ns}; }

// Steps end at 100 and 200; operators begin at 10, 110 and 210.
struct Training : ProcessBuilder {
  Training() {
    for (const int64_t begin : {10, 110, 210}) op(begin, begin + 5, "aten::mm");
    optimizer_step(90, 100);
    optimizer_step(190, 200);
  }
};

TEST(Interruptions, AProgramThatEndsWellIsNotCutShort) {
  Training b;
  EXPECT_FALSE(Interruptions(b.process).cut({t(205), t(300)}));
  b.process.summary.exit_code = 0;
  EXPECT_FALSE(Interruptions(b.process).cut({t(205), t(300)}));
}

TEST(Interruptions, OfOneThatFailedWhatItWasMakingIsCutShort) {
  Training b;
  b.process.summary.exit_code = 1;
  const Interruptions failed(b.process);
  EXPECT_TRUE(failed.cut({t(205), t(300)}));   // released when the exception was handled
  EXPECT_TRUE(failed.cut({t(205), kNever}));   // or never
  EXPECT_FALSE(failed.cut({t(205), t(209)}));  // before the last operator: it went on without it
  EXPECT_FALSE(failed.cut({t(150), t(300)}));  // made in an earlier step
}

TEST(Interruptions, AKilledProgramHasNoExitCode) {
  Training b;
  b.process.summary.finished = false;
  EXPECT_TRUE(Interruptions(b.process).cut({t(205), kNever}));
  EXPECT_FALSE(Interruptions(b.process).cut({t(150), kNever}));
}

TEST(Interruptions, ARequestThatFoundTheDeviceFullIsOneAlsoIfTheProgramWentOn) {
  Training b;
  b.out_of_memory(150, 1 << 20, kCuda);
  b.process.summary.exit_code = 0;
  const Interruptions full(b.process);
  EXPECT_TRUE(full.cut({t(120), t(160)}));
  EXPECT_FALSE(full.cut({t(120), t(140)}));  // freed before the request failed
  EXPECT_FALSE(full.cut({t(50), t(160)}));   // made in the step before
  EXPECT_FALSE(full.cut({t(155), t(160)}));  // made after the request failed
}

TEST(Interruptions, WhatIsAliveWhenARecordingEndsWithAStepMayBeUsedInTheNext) {
  ProcessBuilder b;
  for (const int64_t begin : {10, 110}) b.op(begin, begin + 5, "aten::mm");
  b.optimizer_step(90, 100);
  b.optimizer_step(190, 200);
  const Interruptions window(b.process);
  EXPECT_TRUE(window.cut({t(120), kNever}));
  EXPECT_FALSE(window.cut({t(120), t(250)}));
  EXPECT_FALSE(window.cut({t(50), kNever}));
}

}  // namespace
}  // namespace tapelens::check
