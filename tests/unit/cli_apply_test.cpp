// `--apply` of record and run: the settings that the command receives, refused arguments, and the closing line.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens";

class Applying : public testing::Test {
 protected:
  Outcome here(Words words, Setting setting = {}) {
    words.insert(words.begin(), kTapelens);
    setting.folder = folder_.path();
    return run(words, setting);
  }
  // A plan with these sites, as JSON text.
  void plan(const std::string& sites) {
    write_file(folder_ / "plan.json",
               R"({"tapelens_plan": 1, "torch": "2.15.0", "command": "x", "sites": [)" + sites + "]}");
  }
  void expect_refused(const Words& words, const std::string& says) {
    const Outcome outcome = here(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  }
  TemporaryFolder folder_;
};

TEST_F(Applying, APlanLimitsTheMemoryOfTheHostAndTheOptionWins) {
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 2, "sites": [], "level": "recompute", "allow": ["offload"],
                                        "host_memory_bytes": 4096})");
  const Words command = {"--", "sh", "-c", "echo $TAPELENS_ALLOW $TAPELENS_HOST_MEMORY"};
  Words words = {"run", "--quiet", "--apply", "plan.json"};
  words.insert(words.end(), command.begin(), command.end());
  EXPECT_EQ(here(words).out, "offload 4096\n");
  words = {"run", "--quiet", "--apply", "plan.json", "--host-memory", "1MiB"};
  words.insert(words.end(), command.begin(), command.end());
  EXPECT_EQ(here(words).out, "offload 1048576\n");
}

TEST_F(Applying, TheCommandIsToldWhatToRewriteAndNotToRecord) {
  const Outcome outcome = here(
      {"run", "--quiet", "--apply", "bitwise", "--allow", "expanded-save", "--allow", "trivial-concat", "--poison",
       "--recompute-budget", "2%", "--rewrite-min-bytes", "1MiB", "--", "sh", "-c",
       "echo $TAPELENS_REWRITE $TAPELENS_APPLY $TAPELENS_ALLOW $TAPELENS_POISON $TAPELENS_RECOMPUTE_BUDGET "
       "$TAPELENS_REWRITE_MIN_BYTES ${TAPELENS_SPOOL-unrecorded} ${TAPELENS_PLAN-unplanned}; ls -d $TAPELENS_TALLY"});
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(
      outcome.out.starts_with("1 bitwise expanded-save,trivial-concat 1 0.020000 1048576 unrecorded unplanned\n/"))
      << outcome.out;
}

TEST_F(Applying, APlanIsHandedOverOneSiteALineWithoutThoseThatAreDisabled) {
  plan(
      R"({"finding": "f4", "rewrite": "unneeded-save", "check": "unneeded-save", "module": "Net.layer*.conv", "operator":
       "aten::conv2d", "node": "ConvolutionBackward0", "field": "input", "source": "net.py:27 Net.forward", "bytes": 1},
       {"rewrite": "wide-save", "node": "ReluBackward0", "enabled": false}, {"rewrite": "wide-save", "source": "a b.py:3"})");
  EXPECT_EQ(
      here({"run", "--quiet", "--apply", "plan.json", "--", "sh", "-c", "cat $TAPELENS_PLAN; echo [$TAPELENS_APPLY]"})
          .out,
      "unneeded-save\tNet.layer*.conv\taten::conv2d\tConvolutionBackward0\tinput\tnet.py:27\n"
      "wide-save\t\t\t\t\ta b.py:3\n[]\n");
}

TEST_F(Applying, ALevelAndAPlanGoTogether) {
  plan(R"({"rewrite": "expanded-save"})");
  EXPECT_EQ(here({"run", "--quiet", "--apply", "lossless", "--apply", "plan.json", "--", "sh", "-c",
                  "echo $TAPELENS_APPLY $(cut -f1 $TAPELENS_PLAN)"})
                .out,
            "lossless expanded-save\n");
}

TEST_F(Applying, WhatIsNoPlanIsRefusedInOneLineThatNamesFileAndSite) {
  plan(R"({"rewrite": "unneeded-save"}, {"finding": "abc", "rewrite": "wide-safe"})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"},
                 "plan.json: site 2 (finding abc): unknown rewrite 'wide-safe'; did you mean 'wide-save'?");
  plan(R"({"node": "ReluBackward0"})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "plan.json: site 1: 'rewrite' is missing");
  plan(R"({"rewrite": "wide-save", "source": "somewhere"})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "plan.json: site 1: 'source' is 'somewhere'");
  plan(R"({"rewrite": "wide-save", "module": 3})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "plan.json: site 1: 'module' is not a string");
  plan(R"({"rewrite": "wide-save", "module": "a\tb"})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "plan.json: site 1: 'module' has a tab");
  plan(R"({"rewrite": "wide-save", "enabled": "yes"})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "'enabled' is neither true nor false");
  plan("3");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "plan.json: site 1: it is not an object");
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 3, "sites": []})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "a plan of version 3, this tapelens reads 1 to 2");
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 2, "sites": [], "level": "best"})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "plan.json: unknown level 'best'");
  write_file(folder_ / "plan.json",
             R"({"tapelens_plan": 2, "sites": [], "level": "recompute", "recompute_budget": 2})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "'recompute_budget' is not a share from 0 to 1");
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 2, "sites": [], "host_memory_bytes": -1})");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "'host_memory_bytes' is not a number of bytes");
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 2, "sites": [], "level": "recompute"})");
  expect_refused({"run", "--apply", "plan.json", "--apply", "bitwise", "--", "echo"},
                 "recompute and bitwise were both given");
  write_file(folder_ / "plan.json", "[]");
  expect_refused({"run", "--apply", "plan.json", "--", "echo"}, "it is not a plan");
  write_file(folder_ / "plan.json", "{");
  expect_refused({"record", "--apply", "plan.json", "--", "echo"}, "it is not JSON");
  expect_refused({"run", "--apply", "no/such/plan.json", "--", "echo"}, "no/such/plan.json: cannot be read: ");
  write_file(folder_ / "plan.json", R"({"tapelens_plan": 1, "sites": )" + std::string(100000, '['));
  expect_refused({"run", "--apply", "plan.json", "--", "echo"},
                 "plan.json: it is not a plan: its JSON is nested too deeply");
  ASSERT_EQ(mkfifo((folder_ / "fifo.json").c_str(), 0600), 0);
  expect_refused({"run", "--apply", "fifo.json", "--", "echo"}, "fifo.json: cannot be read: not a regular file");
}

TEST_F(Applying, WrongOptionsAreRefusedBeforeTheCommandRuns) {
  expect_refused({"run", "--apply", "losless", "--", "echo", "ran"}, "did you mean 'lossless'?");
  expect_refused({"run", "--apply", "lossless", "--apply", "bitwise", "--", "echo", "ran"},
                 "each level contains the one before it");
  expect_refused({"run", "--", "echo", "ran"}, "nothing to apply");
  expect_refused({"run", "--apply", "lossless"}, "no command");
  expect_refused({"run", "--allow", "expand-save", "--", "echo", "ran"}, "did you mean 'expanded-save'?");
  expect_refused({"run", "--apply", "bitwise", "--recompute-budget", "lots", "--", "echo", "ran"}, "'lots'");
  expect_refused({"run", "--apply", "bitwise", "--recompute-budget", "140%", "--", "echo", "ran"}, "'140%'");
  expect_refused({"run", "--apply", "bitwise", "--rewrite-min-bytes", "few", "--", "echo", "ran"}, "'few'");
  expect_refused({"run", "--apply", "bitwise", "--rewrite-plugin", "no.so", "--", "echo", "ran"},
                 "no.so: cannot be read");
  for (const char* option : {"--recompute-budget", "--rewrite-min-bytes"}) {
    expect_refused({"record", option, "1", "--", "echo", "ran"}, "nothing is rewritten without --apply");
  }
  expect_refused({"record", "--poison", "--", "echo", "ran"}, "nothing is rewritten without --apply");
}

TEST_F(Applying, APluginMayBringRewritesOfAnyName) {
  write_file(folder_ / "more.so", "");
  EXPECT_EQ(here({"run", "--quiet", "--allow", "my-rewrite", "--rewrite-plugin", "more.so", "--", "sh", "-c",
                  "echo $TAPELENS_ALLOW $TAPELENS_REWRITE_PLUGINS"})
                .out,
            "my-rewrite " + (std::filesystem::canonical(folder_.path()) / "more.so").string() + "\n");
}

TEST_F(Applying, SettingsOfARunAroundItAreNotInherited) {
  Setting setting;
  setting.environment = {"TAPELENS_REWRITE=1", "TAPELENS_APPLY=bitwise", "TAPELENS_POISON=1"};
  EXPECT_EQ(
      here({"record", "--quiet", "--", "sh", "-c", "echo ${TAPELENS_REWRITE-off} ${TAPELENS_APPLY-off}"}, setting).out,
      "off off\n");
  EXPECT_EQ(
      here({"run", "--quiet", "--apply", "lossless", "--", "sh", "-c", "echo ${TAPELENS_POISON-off}"}, setting).out,
      "off\n");
}

TEST_F(Applying, ExitCodeOutputAndSignalsOfARunAreTheCommands) {
  EXPECT_EQ(here({"run", "--apply", "lossless", "--", "sh", "-c", "exit 7"}).exit_code, 7);
  EXPECT_EQ(here({"run", "--apply", "lossless", "--", "sh", "-c", "kill -KILL $$"}).exit_code, 128 + SIGKILL);
  EXPECT_EQ(here({"run", "--apply", "lossless", "--", "no-such-command"}).exit_code, 127);
  const Outcome outcome = here({"run", "--quiet", "--apply", "lossless", "--", "sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

TEST_F(Applying, TheClosingLineSaysWhatWasRewrittenAndWhatWasNotAndWhy) {
  const Outcome outcome = here({"run", "--apply", "lossless", "--", TAPELENS_TEST_TRAINER});
  EXPECT_EQ(
      outcome.err,
      "err\ntapelens: rewrote 6 saves at 3 sites, 2.0 MiB kept as 64.0 KiB over the whole run; skipped 1 site: the "
      "gradients are clipped (late-gradient, 1)\n");
  EXPECT_TRUE(here({"run", "--apply", "lossless", "--", "true"})
                  .err.starts_with("tapelens: nothing was rewritten: no process"));
  // A process that cannot be rewritten prints the reason itself, and no other message repeats it.
  EXPECT_EQ(here({"run", "--apply", "lossless", "--", TAPELENS_TEST_TRAINER, "--record-only"}).err,
            "err\ntapelens: this probe only records\n");
  const Outcome recorded = here({"record", "--apply", "lossless", "--", TAPELENS_TEST_TRAINER});
  EXPECT_NE(recorded.err.find("run.tapelens (", 0), std::string::npos) << recorded.err;
  EXPECT_NE(recorded.err.find("; rewrote 6 saves at 3 sites"), std::string::npos) << recorded.err;
  EXPECT_NE(here({"report", "run.tapelens"}).out.find("Rewritten"), std::string::npos);
}

}  // namespace
}  // namespace tapelens::test
