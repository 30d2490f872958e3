// A spool that is followed: the time grows linearly with the events.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "analyzer/live/followed.h"
#include "testing/synthetic.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/doubling.h"

namespace tapelens::live {
namespace {

TEST(LiveScaling, CostsGrowLinearlyWithTheEvents) {
  const trace::TestFolder folder;
  const auto spool = [&](int times) { return folder / (std::to_string(times) + ".spool"); };
  for (const int times : {1, testing::Doubling::kTimes}) {
    const auto events = static_cast<uint64_t>(times) * 100'000;
    ASSERT_TRUE(testing::write_synthetic_spool(spool(times), {.events = events}));
  }
  testing::expect_linear([&](int times) {
    return testing::Costs{{"followed", testing::seconds_of([&] {
                             const auto process = Followed::open(spool(times));
                             ASSERT_TRUE(process);
                             while (!(*process)->poll()) {
                             }
                           })}};
  });
}

}  // namespace
}  // namespace tapelens::live
