// Messages of `tapelens fit` before its first run, and the command line's control over a command that it may end. The
// tests do not need PyTorch.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/child.h"
#include "cli/step_watch.h"
#include "cli/text.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/cli_usage.h"

namespace tapelens::test {
namespace {

Outcome fit(const Words& options, const Words& command) { return run_with_command("fit", options, command); }

TEST(Fit, WhatCannotBeIsOneLineBeforeAnythingRuns) {
  const Words echo = {"echo", "{}"};
  expect_one_line(fit({}, echo), "--gpu is required");
  expect_one_line(fit({"--gpu", "A100", "--vary", "1..4"}, echo),
                  "--gpu: unknown GPU 'A100', did you mean A100-80GB or A100-40GB?");
  expect_one_line(fit({"--gpu", "H100,H100", "--vary", "1..4"}, echo), "'H100' was given more than once");
  expect_one_line(fit({"--gpu", "H100"}, echo), "--vary: is missing: the command has a {}");
  expect_one_line(fit({"--gpu", "H100", "--vary", "4..1"}, echo), "'4..1' is not a list of sizes, like 1..256");
  expect_one_line(fit({"--gpu", "H100", "--vary", "1..4"}, {"echo", "1"}), "no argument of the command has {}");
  expect_one_line(fit({"--gpu", "H100", "--vary", "1..4", "--placeholder", "SIZE"}, echo),
                  "has SIZE in place of the size");
  expect_one_line(fit({"--gpu", "H100", "--all"}, {"echo", "1"}), "nothing varies without --vary");
  for (const char* steps : {"0", "1", "x", "-3"}) {
    expect_one_line(fit({"--gpu", "H100", "--vary", "1..4", "--steps", steps}, echo), "is neither 2 or more nor all");
  }
  expect_one_line(fit({"--gpu", "H100", "--vary", "1..4", "--limit", "soon"}, echo), "'soon' is not a time, like 120s");
  expect_one_line(fit({"--gpu", "H100", "--vary", "1..4", "--world", "many"}, echo), "--world: 'many' is not a number");
  expect_one_line(fit({"--gpu", "H100", "--vary", "1..4"}, {}), "no command to run");
  expect_one_line(fit({"--gpu", "H100", "--vary", "1..4"}, echo), "libtapelens_gpu.so is not installed");
}

TEST(Fit, TimesHaveUnits) {
  EXPECT_EQ(cli::parse_duration("90"), 90'000'000'000);
  EXPECT_EQ(cli::parse_duration("120s"), 120'000'000'000);
  EXPECT_EQ(cli::parse_duration("1.5m"), 90'000'000'000);
  EXPECT_EQ(cli::parse_duration("1h"), 3'600'000'000'000);
  for (const char* wrong : {"", "0", "s", "5x", "-1s", "1e30h", "1 s"}) {
    EXPECT_FALSE(cli::parse_duration(wrong)) << wrong;
  }
}

// Each test runs in a child process: supervision of a command changes the attributes of the supervising process.
template <class Body>
void in_a_child(Body body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(body());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

const cli::Streams kHere;
bool never() { return false; }

TEST(Watched, ACommandThatEndsByItselfHasItsExitCode) {
  in_a_child([] {
    const cli::WatchedEnd end = cli::run_watched({"sh", "-c", "exit 7"}, {{"X", "1"}}, kHere, never);
    const cli::WatchedEnd killed = cli::run_watched({"sh", "-c", "kill -9 $$"}, {}, kHere, never);
    const cli::WatchedEnd none = cli::run_watched({"no-such-command"}, {}, kHere, never);
    if (!end.started || end.was_ended || end.exit_code != 7) return 1;
    if (killed.exit_code != 137 || killed.was_ended) return 2;
    return none.started || none.exit_code != 127 || none.error != "no-such-command: command not found" ? 3 : 0;
  });
}

TEST(Watched, WhatItStartedEndsWithIt) {
  const TemporaryFolder folder;
  const std::string file = folder / "pids";
  // A handler that would run, a child in another session, and a grandchild.
  const std::string script = "trap 'echo handled >> " + file + "' TERM INT HUP; echo $$ >> " + file +
                             "; setsid sh -c 'echo $$ >> " + file + "; sleep 600 & echo $! >> " + file +
                             "; wait' & sleep 600";
  in_a_child([&] {
    const auto lines = [&] {
      const std::string text = read_file(file);
      return std::count(text.begin(), text.end(), '\n');
    };
    const cli::WatchedEnd end = cli::run_watched({"sh", "-c", script}, {}, kHere, [&] { return lines() >= 3; });
    return end.was_ended && end.interrupted_by == 0 ? 0 : 1;
  });
  const std::string text = read_file(file);
  EXPECT_EQ(text.find("handled"), std::string::npos);
  std::istringstream pids(text);
  int count = 0;
  for (pid_t pid; pids >> pid; ++count) EXPECT_NE(kill(pid, 0), 0) << pid << " runs on";
  EXPECT_EQ(count, 3);
}

TEST(Watched, ASignalEndsItAlsoWhenItComesBetweenTwoCommands) {
  in_a_child([] {
    bool was_sent = false;
    const cli::WatchedEnd during = cli::run_watched({"sleep", "600"}, {}, kHere, [&] {
      if (!std::exchange(was_sent, true)) raise(SIGTERM);
      return false;
    });
    raise(SIGINT);
    const cli::WatchedEnd between = cli::run_watched({"sleep", "600"}, {}, kHere, never);
    if (during.interrupted_by != SIGTERM || !during.was_ended) return 1;
    return between.interrupted_by == SIGINT && between.was_ended ? 0 : 2;
  });
}

// ---- whether a run has made its steps

void make_steps(trace::SpoolBuilder& spool, int steps) {
  spool.op("aten::mm").end_op();
  for (int i = 0; i < steps; ++i) {
    spool.optimizer("Adam").end_optimizer();
    spool.optimizer("SGD of another net").end_optimizer();
  }
}

TEST(StepWatch, ARecordingThatEndsWithItsStepsIsEnough) {
  const trace::TestFolder folder;
  trace::SpoolBuilder spool(folder, "1.spool");
  cli::StepWatch watch(folder.path(), 3, std::chrono::hours(1));
  EXPECT_FALSE(watch.is_enough());
  make_steps(spool, 3);
  EXPECT_FALSE(watch.is_enough()) << "it still records";
  spool.finish();
  EXPECT_TRUE(watch.is_enough());
  EXPECT_FALSE(watch.is_late());
}

TEST(StepWatch, AProcessThatEndsByItselfBeforeIsLetEnd) {
  const trace::TestFolder folder;
  trace::SpoolBuilder spool(folder, "1.spool");
  make_steps(spool, 2);
  spool.finish();
  cli::StepWatch watch(folder.path(), 3, std::chrono::hours(1));
  EXPECT_FALSE(watch.is_enough());
}

TEST(StepWatch, OthersAreWaitedForAsLongAsTheFirstTook) {
  const trace::TestFolder folder;
  trace::SpoolBuilder fast(folder, "1.spool"), slow(folder, "2.spool");
  cli::StepWatch watch(folder.path(), 3, std::chrono::hours(1));
  EXPECT_FALSE(watch.is_enough());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  make_steps(fast, 3);
  fast.finish();
  EXPECT_FALSE(watch.is_enough()) << "the other rank still records";
  EXPECT_TRUE(eventually([&] { return watch.is_enough(); }));
  EXPECT_FALSE(watch.is_late());
}

TEST(StepWatch, TheLimitIsSaid) {
  const trace::TestFolder folder;
  cli::StepWatch watch(folder.path(), 0, std::chrono::milliseconds(1));
  EXPECT_TRUE(eventually([&] { return watch.is_enough(); }));
  EXPECT_TRUE(watch.is_late());
}

}  // namespace
}  // namespace tapelens::test
