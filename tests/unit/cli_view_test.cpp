// `tapelens view`: the arguments that it checks, the window that it starts, and the window's arguments. The window is a
// shell script here.
#include <gtest/gtest.h>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

// A separate tree with a copy of the binary, without other files of the build beside it.
class View : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "path");
    fs::create_directories(folder_ / "work");
    fs::copy_file(TAPELENS_TEST_TREE "/bin/tapelens", folder_ / "bin/tapelens");
    write_file(folder_ / "work/run.tapelens", "");
    write_file(folder_ / "work/two words.tapelens", "");
  }
  // Prints its folder and its arguments, one a line.
  void put_window(const std::string& where) {
    write_file(folder_ / where / "tapelens-gui", "#!/bin/sh\nprintf '%s\\n' " + where + " \"$@\"\nexit 7\n", true);
  }
  Outcome view(Words words) {
    words.insert(words.begin(), {folder_ / "bin/tapelens", "view"});
    Setting setting;
    setting.folder = folder_ / "work";
    setting.environment = {"PATH=" + (folder_ / "path").string()};
    return run(words, setting);
  }
  TemporaryFolder folder_;
};

void expect_refused(const Outcome& outcome, int exit_code, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST_F(View, TheWindowBesideTheBinaryGoesBeforeThatOnThePath) {
  put_window("path");
  EXPECT_EQ(view({}).out, "path\n");
  put_window("bin");
  const Outcome outcome = view({});
  EXPECT_EQ(outcome.out, "bin\n");
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(View, OptionsAndFilesReachTheWindowAsTheyWereTyped) {
  put_window("bin");
  EXPECT_EQ(view({"run.tapelens"}).out, "bin\nrun.tapelens\n");
  EXPECT_EQ(view({"--page", "peak", "two words.tapelens", "run.tapelens", "--at", "step:3", "--screenshot=a b.png",
                  "--device", "cuda:1", "--size", "1280x720", "--scheme", "dark", "--export-card", "card.svg"})
                .out,
            "bin\n--page=peak\n--device=cuda:1\n--at=step:3\n--screenshot=a "
            "b.png\n--export-card=card.svg\n--size=1280x720\n--scheme=dark\n"
            "two words.tapelens\nrun.tapelens\n");
}

TEST_F(View, APathThatBeginsLikeAnOptionStaysAPath) {
  put_window("bin");
  write_file(folder_ / "work/--page", "");
  EXPECT_EQ(view({"--", "--page"}).out, "bin\n./--page\n");
}

TEST_F(View, WithoutAWindowItIsSaidWhatToDo) {
  expect_refused(view({"run.tapelens"}), 1,
                 "tapelens-gui is not installed: pip install 'tapelens[gui]'; tapelens report FILE --format html");
}

TEST_F(View, AWindowThatCannotBeRunIsNamed) {
  write_file(folder_ / "bin/tapelens-gui", "#!/no/such/shell\n", true);
  expect_refused(view({}), 1, "/bin/tapelens-gui: cannot be run: ");
}

TEST_F(View, WhatCannotBeReadIsSaidBeforeAnyWindowOpens) {
  put_window("bin");
  expect_refused(view({"rnu.tapelens"}), 3, "rnu.tapelens: cannot be read: No such file or directory");
  expect_refused(view({"run.tapelens", "other.tapelens"}), 3, "other.tapelens: cannot be read");
  expect_refused(view({"."}), 3, ".: cannot be read: Is a directory");
}

// The window checks the values of options: tests/gui/app_program_test.cpp.
TEST_F(View, WhatItDoesNotKnowIsAUsageError) {
  put_window("bin");
  expect_refused(view({"a", "b", "c"}), 2, "unexpected argument 'c'");
  expect_refused(view({"--pages", "peak"}), 2, "--pages");
}

}  // namespace
}  // namespace tapelens::test
