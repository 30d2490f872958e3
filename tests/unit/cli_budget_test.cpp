// Messages of `tapelens budget` before its first run. The tests do not need PyTorch.
#include <gtest/gtest.h>

#include "tests/unit/support/cli_usage.h"

namespace tapelens::test {
namespace {

Outcome budget(const Words& options, const Words& command) { return run_with_command("budget", options, command); }

TEST(Budget, WhatCannotBeIsOneLineBeforeAnythingRuns) {
  expect_one_line(budget({}, {}), "no command to run: tapelens budget -- python train.py");
  expect_one_line(budget({"--budgets", "1.5"}, {"echo"}), "--budgets: '1.5' is not a list of budgets, like 0.3,0.5");
  expect_one_line(budget({"--steps", "1"}, {"echo"}), "--steps: '1' is neither 2 or more nor all");
  expect_one_line(budget({"--limit", "soon"}, {"echo"}), "--limit: 'soon' is not a time, like 120s or 10m");
  expect_one_line(budget({"--format", "html"}, {"echo"}), "--format");
  expect_one_line(budget({"--gpu", "B9"}, {"echo"}), "unknown GPU 'B9'");
}

TEST(Budget, ACommandThatRunsNothingOfLibTorchIsNoAnswer) {
  const Outcome outcome = budget({"--format", "json"}, {"true"});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_NE(outcome.out.find("no process of it ran an operator of a LibTorch"), std::string::npos) << outcome.out;
  EXPECT_EQ(budget({}, {"/nowhere"}).exit_code, 6);
}

}  // namespace
}  // namespace tapelens::test
