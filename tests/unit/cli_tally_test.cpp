// The closing line of `run --apply`: it counts the changes of each rewrite in the rewrite's own unit.
#include <gtest/gtest.h>

#include "cli/tally.h"

namespace tapelens::cli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(ClosingLine, StepsAndGradientsAreNotSaves) {
  TallySums tally;
  tally.applied = {
      {.rewrite = "recomputable-save",
       .reason = "",
       .level = 2,
       .sites = 17,
       .times = 86,
       .bytes = 78 * kMiB,
       .kept = 4 * kMiB},
      {.rewrite = "optimizer-temporaries",
       .reason = "",
       .level = 2,
       .sites = 1,
       .times = 3,
       .bytes = 900 * kMiB,
       .kept = 64 * kMiB},
      {.rewrite = "late-gradient", .reason = "", .level = 2, .sites = 2, .times = 1, .bytes = 9 * kMiB, .kept = 0},
      {.rewrite = "of-a-library", .reason = "", .level = 2, .sites = 1, .times = 2, .bytes = 2 * kMiB, .kept = 0}};
  EXPECT_EQ(describe(tally),
            "rewrote 88 saves at 18 sites, 80.0 MiB kept as 4.0 MiB over the whole run, and 3 optimizer steps "
            "(optimizer-temporaries), 1 gradient (late-gradient)");
}

TEST(ClosingLine, MayHaveStepsAlone) {
  TallySums tally;
  EXPECT_EQ(describe(tally), "nothing was rewritten");
  tally.applied = {{.rewrite = "optimizer-temporaries",
                    .reason = "",
                    .level = 2,
                    .sites = 1,
                    .times = 1,
                    .bytes = 9 * kMiB,
                    .kept = 0}};
  EXPECT_EQ(describe(tally), "rewrote 1 optimizer step (optimizer-temporaries)");
}

}  // namespace
}  // namespace tapelens::cli
