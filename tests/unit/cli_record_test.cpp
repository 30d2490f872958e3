// `tapelens record` with commands that do not use PyTorch: they behave as without Tapelens.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

// The binary beside a preload library without functions, in a separate tree that CMake made.
Words record(const Words& command, const Words& options = {}) {
  Words words = {TAPELENS_TEST_TREE "/bin/tapelens", "record"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}
Words shell(const std::string& script) { return {"sh", "-c", script}; }

size_t lines(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

class Record : public testing::Test {
 protected:
  Outcome run_here(const Words& command, Setting setting = {}) {
    setting.folder = folder_.path();
    return run(command, setting);
  }
  TemporaryFolder folder_;
};

TEST_F(Record, TheExitCodeIsTheCommands) {
  EXPECT_EQ(run_here(record({"true"})).exit_code, 0);
  EXPECT_EQ(run_here(record({"false"})).exit_code, 1);
  EXPECT_EQ(run_here(record(shell("exit 7"))).exit_code, 7);
}

TEST_F(Record, ASignalThatEndsTheCommandIsGivenAsShellsDo) {
  EXPECT_EQ(run_here(record(shell("kill -KILL $$"))).exit_code, 128 + SIGKILL);
  EXPECT_EQ(run_here(record(shell("kill -SEGV $$"))).exit_code, 128 + SIGSEGV);
}

TEST_F(Record, ACommandThatIsNotFoundIs127WithOneLine) {
  const Outcome outcome = run_here(record({"no-such-command-anywhere"}));
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_EQ(outcome.err, "tapelens: no-such-command-anywhere: command not found\n");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Record, ACommandThatCannotBeExecutedIs126WithOneLine) {
  write_file(folder_ / "data", "text");
  const Outcome outcome = run_here(record({"./data"}));
  EXPECT_EQ(outcome.exit_code, 126);
  EXPECT_EQ(outcome.err, "tapelens: ./data: Permission denied\n");
}

TEST_F(Record, AScriptWithoutAnInterpreterLineRunsAsInAShell) {
  write_file(folder_ / "script", "echo from the script\n", true);
  EXPECT_EQ(run_here(record({"./script"})).out, "from the script\n");
}

TEST_F(Record, OutputAndErrorOfTheCommandAreUntouched) {
  const Words command = shell("echo out; echo err >&2; printf 'no newline'");
  const Outcome alone = run_here(command), recorded = run_here(record(command, {"--quiet"}));
  EXPECT_EQ(recorded.out, alone.out);
  EXPECT_EQ(recorded.err, alone.err);
}

TEST_F(Record, ACommandWithoutLibTorchLeavesNothingAndSaysSoInOneLine) {
  const Outcome outcome = run_here(record({"ls", "/"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, run_here({"ls", "/"}).out);
  EXPECT_EQ(lines(outcome.err), 1u);
  EXPECT_NE(outcome.err.find("nothing was recorded"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("tapelens doctor"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Record, AReasonThatTheProcessSaidIsNotFollowedByAnother) {
  const std::string reason =
      "tapelens: a.spool: cannot be written: No space left on device; the program runs unrecorded\n";
  EXPECT_EQ(run_here(record({TAPELENS_TEST_TRAINER, "--no-room"})).err, "err\n" + reason);
  EXPECT_EQ(run_here(record({TAPELENS_TEST_TRAINER})).exit_code, 0);
  EXPECT_EQ(run_here(record({TAPELENS_TEST_TRAINER, "--no-room"})).err,
            "err\n" + reason + "tapelens: run.tapelens is an earlier recording: nothing was recorded now\n");
}

TEST_F(Record, WhyNothingWasRecordedIsSaidInOneLine) {
  const auto said = [&](const Words& command) {
    const Outcome outcome = run_here(record(command));
    EXPECT_EQ(lines(outcome.err), 1u) << outcome.err;
    return outcome.err;
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = said(shell("exit 3"));
  EXPECT_TRUE(says(text, "nothing was recorded: the command exited with 3, and no operator")) << text;
  text = said(shell("exit 255"));
  EXPECT_TRUE(says(text, "the command exited with 255,")) << text;
  text = said(shell("kill -SEGV $$"));
  EXPECT_TRUE(says(text, "the command ended with 139 (SIGSEGV), and no operator")) << text;
  text = said({"env", "-i", "/bin/true"});
  EXPECT_TRUE(says(text, "env starts its command without LD_PRELOAD: put `tapelens record --` behind it")) << text;
  text = said({"env", "A=1", "/bin/true"});
  EXPECT_FALSE(says(text, "env starts")) << text;
  EXPECT_TRUE(says(text, "tapelens doctor -- env")) << text;
}

TEST_F(Record, AProgramThatTakesNoPreloadLibraryIsNamed) {
  const fs::path program = folder_ / "program";
  fs::copy_file("/bin/true", program);
  fs::permissions(program, fs::perms::set_uid, fs::perm_options::add);
  const Outcome outcome = run_here(record({"./program"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("./program is setuid or setgid, so that LD_PRELOAD does not reach it"), std::string::npos)
      << outcome.err;
}

TEST_F(Record, StandardInputPassesThrough) {
  Setting setting;
  setting.input.assign(1 << 20, 'x');
  setting.input += '\n';
  EXPECT_EQ(run_here(record({"wc", "-c"}, {"--quiet"}), setting).out, "1048577\n");
}

TEST_F(Record, APipelineAroundItWorks) {
  const std::string tapelens = std::string(TAPELENS_TEST_TREE) + "/bin/tapelens record --quiet -- ";
  const Outcome outcome = run_here(shell("printf 'b\\na\\n' | " + tapelens + "sort | head -1"));
  EXPECT_EQ(outcome.out, "a\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Record, TheCommandSeesItsOwnArgumentsWholeAndASecondDashDash) {
  EXPECT_EQ(run_here(record({"printf", "%s|", "--", "a b", "--quiet", ""}, {"--quiet"})).out, "--|a b|--quiet||");
}

TEST_F(Record, TheCommandHasItsSettingsInTheEnvironment) {
  const Outcome outcome =
      run_here(record(shell("echo $TAPELENS_SPOOL $TAPELENS_STEPS $TAPELENS_MAX_BYTES $TAPELENS_STACKS"),
                      {"-o", "a.tapelens", "--steps", "1:3", "--max-size", "1MiB", "--stacks", "cpp"}));
  EXPECT_EQ(outcome.out, (fs::canonical(folder_.path()) / "a.tapelens.spool").string() + " 1:3 1048576 cpp\n");
}

TEST_F(Record, SettingsOfARecordingAroundItAreNotInherited) {
  Setting setting;
  setting.environment = {"TAPELENS_STEPS=5:6", "TAPELENS_QUIET=1"};
  EXPECT_EQ(run_here(record(shell("echo ${TAPELENS_STEPS-none} ${TAPELENS_QUIET-none}")), setting).out, "none none\n");
}

TEST_F(Record, ALibraryThatIsPreloadedAlreadyStaysSo) {
  Setting setting;
  setting.environment = {"LD_PRELOAD=libc.so.6", "ASAN_OPTIONS=verify_asan_link_order=0"};
  const Outcome outcome = run_here(record(shell("echo $LD_PRELOAD")), setting);
  EXPECT_TRUE(outcome.out.starts_with("libc.so.6:/")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("/libtapelens_inject.so\n")) << outcome.out;
}

TEST_F(Record, AnInstallationInAFolderWithASpaceIsPreloadedAllTheSame) {
  const fs::path tree = folder_ / "a tree";
  fs::copy(TAPELENS_TEST_TREE, tree, fs::copy_options::recursive);
  const Outcome outcome = run_here({(tree / "bin/tapelens").string(), "record", "--quiet", "--", "grep", "-c",
                                    "libtapelens_inject", "/proc/self/maps"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Record, QuietSaysNothing) { EXPECT_EQ(run_here(record({"true"}, {"--quiet"})).err, ""); }

TEST_F(Record, ATargetThatCannotBeWrittenRunsTheCommandUnrecorded) {
  for (const char* target : {"no/such/folder/run.tapelens", "/dev/null", "/proc/run.tapelens", "/"}) {
    const Outcome outcome = run_here(record(shell("echo ran ${LD_PRELOAD-alone}; exit 3"), {"-o", target}));
    EXPECT_EQ(outcome.exit_code, 3) << target;
    EXPECT_EQ(outcome.out, "ran alone\n") << target;
    EXPECT_EQ(lines(outcome.err), 1u) << outcome.err;
    EXPECT_NE(outcome.err.find("unrecorded"), std::string::npos) << outcome.err;
  }
}

TEST_F(Record, WithoutAPreloadLibraryTheCommandRunsUnrecorded) {
  fs::create_directories(folder_ / "bin");
  fs::copy(TAPELENS_TEST_TREE "/bin/tapelens", folder_ / "bin/tapelens");
  const Outcome outcome = run_here({"bin/tapelens", "record", "--", "sh", "-c", "exit 4"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("libtapelens_inject.so is not installed"), std::string::npos) << outcome.err;
}

TEST_F(Record, DispositionsAndMaskOfTheCommandAreThoseOfTheBareOne) {
  const Words command = {"grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"};
  EXPECT_EQ(run_here(record(command, {"--quiet"})).out, run_here(command).out);
  // With some signals ignored from the start, as under nohup or in the background of a script.
  const std::string ignoring = "trap '' HUP INT CHLD TERM; exec ";
  const std::string bare = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status";
  EXPECT_EQ(run_here(shell(ignoring + TAPELENS_TEST_TREE "/bin/tapelens record --quiet -- " + bare)).out,
            run_here(shell(ignoring + bare)).out);
}

TEST_F(Record, AnExitCodeIsSeenThoughChildrenAreIgnored) {
  EXPECT_EQ(run_here(shell("trap '' CHLD; exec " TAPELENS_TEST_TREE "/bin/tapelens record --quiet -- sh -c 'exit 9'"))
                .exit_code,
            9);
}

TEST_F(Record, TheCommandIsInTheProcessGroupOfItsCaller) {
  Setting setting;
  setting.own_group = true;
  pid_t group = 0;
  setting.meanwhile = [&group](pid_t child) { group = child; };
  const Outcome outcome =
      run_here(record(shell("ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat"), {"--quiet"}), setting);
  EXPECT_EQ(std::stoi(outcome.out), group);
}

TEST_F(Record, CtrlCReachesTheCommandOnceAndItsExitCodeIsKept) {
  Setting setting;
  setting.own_group = true;
  const fs::path ready = folder_ / "ready";
  setting.meanwhile = [&](pid_t child) {
    ASSERT_TRUE(eventually([&] { return fs::exists(ready); }));
    kill(-child, SIGINT);
  };
  const Outcome outcome = run_here(record(shell("n=0; trap 'n=$((n+1))' INT; touch ready; while [ $n = 0 ]; do sleep "
                                                "0.01; done; sleep 0.2; echo $n; exit 5")),
                                   setting);
  EXPECT_EQ(outcome.out, "1\n");
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_NE(outcome.err.find("nothing was recorded"), std::string::npos)
      << "it must go on after Ctrl-C: " << outcome.err;
}

TEST_F(Record, ACommandThatDiesOfCtrlCGives130) {
  Setting setting;
  setting.own_group = true;
  setting.meanwhile = [&](pid_t child) {
    ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "ready"); }));
    kill(-child, SIGINT);
  };
  EXPECT_EQ(run_here(record(shell("touch ready; exec sleep 20")), setting).exit_code, 130);
}

TEST_F(Record, SignalsSentToTheRecorderAloneArePassedOn) {
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    fs::remove(folder_ / "ready");
    Setting setting;
    setting.meanwhile = [&](pid_t child) {
      ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "ready"); }));
      kill(child, signal);
    };
    EXPECT_EQ(run_here(record(shell("touch ready; exec sleep 20")), setting).exit_code, 128 + signal);
  }
}

TEST_F(Record, AStoppedCommandStopsTheRecorderAndBothGoOn) {
  Setting setting;
  setting.own_group = true;
  const auto state = [](pid_t pid) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    return stat.empty() ? '?' : stat[stat.rfind(')') + 2];
  };
  setting.meanwhile = [&](pid_t child) {
    ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "ready"); }));
    kill(-child, SIGTSTP);
    EXPECT_TRUE(eventually([&] { return state(child) == 'T'; }));
    kill(-child, SIGCONT);
    EXPECT_TRUE(eventually([&] { return state(child) != 'T'; }));
  };
  EXPECT_EQ(run_here(record(shell("touch ready; exec sleep 1"), {"--quiet"}), setting).exit_code, 0);
}

}  // namespace
}  // namespace tapelens::test
