// The outcome of a run from its end, its output and its recording.
#include <gtest/gtest.h>

#include "analyzer/experiment/attempt.h"

namespace tapelens::experiment {
namespace {

// A run on a GPU that Tapelens ended after its steps.
Attempt measured() {
  Attempt attempt;
  attempt.was_ended = true;
  attempt.measured.uses_gpu = true;
  attempt.measured.optimizer_steps = 3;
  attempt.measured.grew = true;
  return attempt;
}

Attempt failed() {
  Attempt attempt = measured();
  attempt.was_ended = false;
  attempt.exit_code = 1;
  return attempt;
}

Attempt judged(Attempt attempt, const Ending& ending) {
  judge(attempt, ending);
  return attempt;
}

TEST(Attempts, ARunThatMadeItsStepsIsMeasured) {
  const Attempt attempt = judged(measured(), {.steps = 3, .needs_gpu = true});
  EXPECT_EQ(attempt.outcome, Outcome::measured);
  EXPECT_EQ(attempt.why, "");
  EXPECT_TRUE(attempt.measured.grew);
  EXPECT_FALSE(attempt.is_unknown());
}

TEST(Attempts, TheLastStepOfARunThatWentToItsEndSaysNothingOfGrowth) {
  Attempt attempt = measured();
  attempt.was_ended = false;
  EXPECT_FALSE(judged(attempt, {.steps = 3}).measured.grew);
}

TEST(Attempts, AFullDeviceIsTheOutcomeEvenIfTheProgramWentOnOrFailed) {
  for (const bool went_on : {false, true}) {
    Attempt attempt = went_on ? measured() : failed();
    attempt.measured.full = "cuda:0 had no room for 8.0 MiB";
    attempt = judged(attempt, {.steps = 3, .is_late = true, .incomplete = "is the disk full?", .written = "Error\n"});
    EXPECT_EQ(attempt.outcome, Outcome::out_of_memory);
    EXPECT_EQ(attempt.went_on, went_on);
    EXPECT_EQ(why_text(attempt),
              went_on ? "cuda:0 had no room for 8.0 MiB; the program went on without it" : attempt.measured.full);
    EXPECT_EQ(last_words_text(attempt, ""), "");
  }
}

TEST(Attempts, TheOutputOfAFailedRunMayNameAFullGpu) {
  const Ending ending{.steps = 3, .written = "RuntimeError: CUDA error: out of memory\n", .needs_gpu = true};
  EXPECT_EQ(judged(failed(), ending).outcome, Outcome::out_of_memory);
  EXPECT_EQ(judged(measured(), ending).outcome, Outcome::measured) << "the program did not fail";
  Ending on_host = ending;
  on_host.needs_gpu = false;
  EXPECT_EQ(judged(failed(), on_host).outcome, Outcome::failed);
}

TEST(Attempts, AFailedRunHasItsCodeAndTheEndOfItsOutput) {
  std::string written;
  for (int line = 0; line < 20; ++line) written += std::to_string(line) + "\n";
  Attempt attempt = judged(failed(), {.steps = 3, .written = written});
  EXPECT_EQ(attempt.outcome, Outcome::failed);
  EXPECT_EQ(attempt.why, "exit code 1");
  EXPECT_EQ(last_words_text(attempt, " with 8"),
            "Last output of the run with 8:\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n");
  attempt.exit_code = 137;
  EXPECT_EQ(judged(attempt, {}).why, "killed (exit code 137): perhaps this machine's own memory was full");
}

TEST(Attempts, ARunOutOfTimeIsCutOff) {
  const Attempt attempt = judged(measured(), {.steps = 5, .is_late = true});
  EXPECT_EQ(attempt.outcome, Outcome::cut_off);
  EXPECT_EQ(attempt.why, "3 steps of 5 had ended when its time was up (--limit)");
  EXPECT_EQ(judged(measured(), {.is_late = true}).why,
            "3 steps had ended, and the program had not when its time was up (--limit)");
}

TEST(Attempts, ARecordingThatLacksDataMeasuresNothing) {
  Attempt attempt = judged(measured(), {.incomplete = "its recording is not complete: is the disk full?"});
  EXPECT_EQ(attempt.outcome, Outcome::failed);
  EXPECT_EQ(attempt.why, "its recording is not complete: is the disk full?");
  attempt = measured();
  attempt.measured.left_out = "a part of its recording could not be read";
  EXPECT_EQ(judged(attempt, {}).why, attempt.measured.left_out);
  attempt = measured();
  attempt.measured.uses_gpu = false;
  EXPECT_EQ(judged(attempt, {.needs_gpu = true}).why, "it allocated nothing on a GPU");
  EXPECT_EQ(judged(attempt, {}).outcome, Outcome::measured);
}

}  // namespace
}  // namespace tapelens::experiment
