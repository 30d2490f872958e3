// The kept plans of `run --fit`: used for the same program alone, bounded in number, and never a reason to fail. A
// script stands for Python, so the tests do not need PyTorch.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include "cli/plan_cache.h"
#include "cli/program_sources.h"
#include "tests/unit/support/cli_process.h"
#include "trace/checksum.h"

namespace tapelens::test {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  write_file(path, text);
}

using cli::KeptPlan;
using cli::PlanCache;
using cli::ToFit;

class Kept : public testing::Test {
 protected:
  Kept() {
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    python("2.15.0");
    put(folder_ / "code/train.py", "import model\n");
    put(folder_ / "code/model.py", "layers = 2\n");
    put(folder_ / "library/layers.py", "width = 4\n");
    wanted_.size = 1000;
    wanted_.command = {(folder_ / "python3").string(), (folder_ / "code/train.py").string(), "--batch", "4"};
  }
  ~Kept() override { unsetenv("XDG_CACHE_HOME"); }

  void python(const std::string& torch) {
    write_file(folder_ / "python3",
               "#!/bin/sh\nprintf '3.12.1\\n/usr/bin/python3\\nFalse\\n" + torch + "\\n/torch\\n'\n", true);
  }
  // A plan with 10 % recomputation, whose run used the file of the library.
  plan::Plan plan() const {
    plan::Plan made;
    made.size = plan::Bytes{1000};
    plan::Tried tried;
    tried.choice = {"recompute", 10};
    tried.choice.offloads = true;
    tried.choice.host_memory = 4096;
    tried.bytes = plan::Bytes{900};
    const std::string path = folder_ / "library/layers.py", content = read_file(path);
    tried.measured.sources = {{path, content.size(), trace::checksum_of(content.data(), content.size()), true}};
    made.tried = {plan::Tried(), tried};
    made.chosen = 1;
    return made;
  }
  void keep() const { PlanCache(wanted_).write(plan()); }
  std::optional<KeptPlan> kept() const { return PlanCache(wanted_).read(); }
  fs::path plans() const { return folder_ / "cache/tapelens/plans"; }
  fs::path file() const { return fs::directory_iterator(plans())->path(); }

  TemporaryFolder folder_;
  ToFit wanted_;
};

TEST_F(Kept, APlanIsUsedAgainForTheSameProgram) {
  EXPECT_FALSE(kept());
  keep();
  const auto found = kept();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->rewrites.on);
  EXPECT_EQ(found->rewrites.level, "recompute");
  EXPECT_EQ(found->rewrites.budget, 0.1);
  EXPECT_EQ(found->rewrites.allowed, std::vector<std::string>{"offload"});
  EXPECT_EQ(found->rewrites.host_memory, 4096u);
  EXPECT_EQ(found->options, "--apply recompute --recompute-budget 10% --allow offload --host-memory 4096");
  EXPECT_EQ(found->bytes.value, 900);
  EXPECT_EQ(found->made.size(), std::string("2026-01-31 12:00").size());
  struct stat facts {};
  ASSERT_EQ(stat(file().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(Kept, AProgramThatNeedsNoRewritesHasAPlanToo) {
  plan::Plan made = plan();
  made.chosen = 0;
  PlanCache(wanted_).write(made);
  const auto found = kept();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->rewrites.on);
  EXPECT_EQ(found->options, "");
}

TEST_F(Kept, AChangedProgramHasNoPlan) {
  const auto expect_gone_after = [&](const char* what, auto change) {
    keep();
    EXPECT_TRUE(kept()) << what;
    change();
    EXPECT_FALSE(kept()) << what;
  };
  expect_gone_after("the script", [&] { put(folder_ / "code/train.py", "import model  # \n"); });
  expect_gone_after("a module beside it", [&] { put(folder_ / "code/model.py", "layers = 3\n"); });
  expect_gone_after("a new module", [&] { put(folder_ / "code/parts/block.py", ""); });
  expect_gone_after("a removed module", [&] { fs::remove(folder_ / "code/parts/block.py"); });
  expect_gone_after("settings beside it", [&] { put(folder_ / "code/train.yaml", "batch: 4\n"); });
  expect_gone_after("a folder of settings", [&] { put(folder_ / "code/conf/model/big.yaml", "width: 4\n"); });
  expect_gone_after("a recorded file", [&] { put(folder_ / "library/layers.py", "width = 5\n"); });
  expect_gone_after("a file beside a recorded one", [&] { put(folder_ / "library/norm.py", ""); });
  expect_gone_after("PyTorch", [&] { python("2.16.0"); });
  expect_gone_after("the environment", [] { setenv("BATCH_OF_TEST", "8", 1); });
  unsetenv("BATCH_OF_TEST");
  expect_gone_after("the arguments", [&] { wanted_.command.back() = "5"; });
  expect_gone_after("the size", [&] { wanted_.size = 1001; });
  expect_gone_after("the memory of the host", [&] { wanted_.host_memory = 5000; });
  expect_gone_after("the GPU", [&] { wanted_.gpu.emplace().bytes = 1; });
}

TEST_F(Kept, OtherFilesChangeNothing) {
  keep();
  put(folder_ / "code/loss.csv", "1\n");
  put(folder_ / "code/runs/1/hparams.yaml", "a: 1\n");
  put(folder_ / "code/.git/hook.py", "");
  put(folder_ / "code/env/pyvenv.cfg", "");
  put(folder_ / "code/env/lib/thing.py", "");
  setenv("TERM_OF_TEST", "x", 1);
  EXPECT_TRUE(kept());
  unsetenv("TERM_OF_TEST");
}

TEST_F(Kept, AProgramThatChangesDuringTheRunsHasNoPlan) {
  const PlanCache cache(wanted_);
  put(folder_ / "code/model.py", "layers = 3\n");
  cache.write(plan());
  EXPECT_FALSE(fs::exists(plans()));
}

TEST_F(Kept, ABrokenFileIsIgnored) {
  keep();
  const std::string path = file(), whole = read_file(path);
  for (const std::string& broken : {std::string(), std::string("{"), std::string("[]"), std::string("{\"kept\": 3}"),
                                    whole.substr(0, 200), std::string(200000, '[')}) {
    write_file(path, broken);
    EXPECT_FALSE(kept()) << broken.substr(0, 20);
  }
  std::string unknown = whole;
  unknown.replace(unknown.find("\"recompute\""), 11, "\"guesswork\"");
  write_file(path, unknown);
  EXPECT_FALSE(kept());
  write_file(path, whole);
  EXPECT_TRUE(kept());
  chmod(path.c_str(), 0666);
  EXPECT_FALSE(kept()) << "others can write it";
  keep();
  EXPECT_TRUE(kept()) << "replaced";
}

TEST_F(Kept, AFolderThatCannotBeWrittenIsIgnored) {
  write_file(folder_ / "cache", "a file");
  keep();
  EXPECT_FALSE(kept());
  unsetenv("XDG_CACHE_HOME");
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  unsetenv("HOME");
  keep();
  EXPECT_FALSE(kept());
  setenv("HOME", home.c_str(), 1);
}

TEST_F(Kept, TheOldestPlansAreRemoved) {
  keep();
  const fs::path first = file();
  fs::last_write_time(first, fs::file_time_type::clock::now() - std::chrono::hours(2));
  for (int i = 0; i < 63; ++i) {
    const fs::path other = plans() / (std::to_string(i) + ".plan.json");
    write_file(other, "{}");
    fs::last_write_time(other, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  write_file(plans() / "notes.txt", "not a plan");
  EXPECT_TRUE(kept()) << "64 are kept";
  wanted_.size = 2000;
  keep();
  EXPECT_TRUE(kept());
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(std::distance(fs::directory_iterator(plans()), fs::directory_iterator()), 65);
}

TEST_F(Kept, AProgramThatIsNotPythonHasNone) {
  wanted_.command = {"/bin/true"};
  keep();
  EXPECT_FALSE(fs::exists(plans()));
}

TEST_F(Kept, AFolderWithTooManyFilesHasNone) {
  for (int i = 0; i < 4001; ++i) put(folder_ / ("code/m" + std::to_string(i) + ".py"), "");
  keep();
  EXPECT_FALSE(fs::exists(plans()));
}

TEST(ScriptFolders, AreThoseOfTheFilesAndOfModules) {
  const TemporaryFolder folder;
  put(folder / "a/x.py", "");
  const std::string script = folder / "a/x.py";
  EXPECT_EQ(cli::script_folders({"torchrun", script, "--config=y.yaml"}, "/work"),
            std::vector<std::string>{folder / "a"});
  EXPECT_EQ(cli::script_folders({"python3", "-m", "package.train"}, "/work"), std::vector<std::string>{"/work"});
  EXPECT_TRUE(cli::script_folders({"python3", "no-such.py"}, "/work").empty());
}

}  // namespace
}  // namespace tapelens::test
