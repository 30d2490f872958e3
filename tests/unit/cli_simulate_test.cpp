// Simulated GPUs on the command line: the list of cards, the syntax of a request, and errors on machines without
// support. The tests do not need PyTorch.
#include <gtest/gtest.h>

#include "simulated/cards/cards.h"
#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

Outcome tapelens(Words arguments) {
  arguments.insert(arguments.begin(), TAPELENS_TEST_TREE "/bin/tapelens");
  return run(arguments);
}

void expect_one_line(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "") << "the command ran";
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST(Gpus, AreListedOneALine) {
  const Outcome outcome = tapelens({"fit", "--list-gpus"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const simulated::Card& card : simulated::cards()) {
    EXPECT_NE(outcome.out.find("\n" + std::string(card.id) + " "), std::string::npos) << card.id;
    EXPECT_NE(outcome.out.find("  " + std::string(card.name) + "\n"), std::string::npos) << card.id;
  }
  EXPECT_NE(outcome.out.find("79.18 GiB    9.0           132      50 MiB  NVIDIA H100 80GB HBM3\n"), std::string::npos)
      << outcome.out;
}

TEST(Gpus, ThatThereAreNotAreRefusedBeforeTheCommandRuns) {
  for (const char* command : {"record", "run"}) {
    const auto asked = [&](Words options) {
      options.insert(options.begin(), command);
      options.insert(options.end(), {"--", "echo", "ran"});
      return tapelens(options);
    };
    expect_one_line(asked({"--gpu", "A100"}), "did you mean A100-80GB or A100-40GB?");
    expect_one_line(asked({"--gpu", ""}), "tapelens fit --list-gpus lists them");
    expect_one_line(asked({"--gpu", "H100x0"}), "is not a number of GPUs");
    expect_one_line(asked({"--gpu", "H100:lots"}), "is not the size of a GPU's memory");
    expect_one_line(asked({"--gpu", "H100", "--world", "many"}), "'many' is not a number of ranks");
    expect_one_line(asked({"--gpu", "H100", "--cudnn-workspace", "lots"}), "'lots' is not a size");
    expect_one_line(asked({"--world", "8"}), "nothing is simulated without --gpu");
    expect_one_line(asked({"--cudnn-workspace", "1MiB"}), "nothing is simulated without --gpu");
  }
}

TEST(Gpus, CannotBeSimulatedWithoutTheDevicesLibraryAndThenNothingRuns) {
  for (const char* command : {"record", "run"}) {
    expect_one_line(tapelens({command, "--gpu", "H100", "--", "echo", "ran"}),
                    "libtapelens_gpu.so is not installed beside this tapelens");
  }
}

}  // namespace
}  // namespace tapelens::test
