// The parts of `tapelens record --on-demand` without a program: names, events, requests of `tapelens dump`.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "cli/dump_requests.h"
#include "cli/flight_recorder.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

TEST(NumberedName, HasTheNumberBeforeTheExtension) {
  EXPECT_EQ(cli::numbered_name("run.tapelens", 1), "run.tapelens");
  EXPECT_EQ(cli::numbered_name("run.tapelens", 2), "run.2.tapelens");
  EXPECT_EQ(cli::numbered_name("a.b/oom-node0-1.tapelens", 12), "a.b/oom-node0-1.12.tapelens");
  EXPECT_EQ(cli::numbered_name("a.b/run", 3), "a.b/run.3");
  EXPECT_EQ(cli::numbered_name(".run", 3), ".run.3");
}

TEST(Triggers, AreAListOfKnownEvents) {
  const auto both = cli::parse_triggers("oom,SIGUSR2");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->on_out_of_memory);
  EXPECT_EQ(both->signals, std::vector<int>{SIGUSR2});
  const auto none = cli::parse_triggers("none");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->on_out_of_memory);
  EXPECT_TRUE(none->signals.empty());
  for (const char* bad : {"", ",", "oom,", "SIGHUP", "oom,none", "usr2"}) EXPECT_FALSE(cli::parse_triggers(bad)) << bad;
}

class Requests : public testing::Test {
 protected:
  // Answers the first request that comes.
  std::jthread answering(const cli::DumpRequests& requests, const cli::DumpAnswer& answer) {
    return std::jthread([&requests, answer] {
      eventually([&] { return !requests.pending().empty(); });
      for (const pid_t asker : requests.pending()) requests.answer(asker, answer);
    });
  }
  TemporaryFolder folder_;
};

TEST_F(Requests, GetTheNamesOrTheReason) {
  {
    const cli::DumpRequests requests(folder_.path().string());
    ASSERT_TRUE(requests.accepts());
    {
      const std::jthread answers = answering(requests, {.files = {"/a/run.tapelens", "/a/run 2.tapelens"}});
      const auto answer = cli::request_dump(folder_.path().string());
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->files, (std::vector<std::string>{"/a/run.tapelens", "/a/run 2.tapelens"}));
    }
    const std::jthread answers = answering(requests, {.refused = "no space"});
    const auto answer = cli::request_dump(folder_.path().string());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->files.empty());
    EXPECT_EQ(answer->refused, "no space");
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Requests, EndWithTheRecorder) {
  write_file(folder_ / "4711.request", "");
  auto requests = std::make_unique<cli::DumpRequests>(folder_.path().string());
  EXPECT_EQ(requests->pending(), std::vector<pid_t>{4711});
  std::jthread end([&] {
    eventually([&] { return requests->pending().size() == 2; });
    requests.reset();
  });
  const auto answer = cli::request_dump(folder_.path().string());
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("the program ended before the recording was made"), std::string::npos);
  end.join();
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Requests, OfAKilledRecorderAreRemoved) {
  for (const char* name : {"recorder", "12.request", "13.answer"}) write_file(folder_ / name, "4194305");
  write_file(folder_ / "mine.request", "");
  cli::remove_requests(folder_.path().string());
  EXPECT_TRUE(fs::exists(folder_ / "mine.request"));
  fs::remove(folder_ / "mine.request");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST(Recorders, OfAProcessThatIsNotRecorded) {
  const auto none = cli::recorders_of(getpid());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("tapelens record --on-demand -- COMMAND"), std::string::npos);
}

}  // namespace
}  // namespace tapelens::test
