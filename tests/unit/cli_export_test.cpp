// `tapelens export` as a program: its output paths, replaced files, exit codes.
#include <gtest/gtest.h>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {
namespace {

const std::string kTapelens = TAPELENS_TEST_TREE "/bin/tapelens";

class Exporting : public testing::Test {
 protected:
  // A recording of one operator that allocates 3 MiB.
  void SetUp() override { here({"record", "--quiet", "--", TAPELENS_TEST_WRITER}); }
  Outcome here(Words words) {
    words.insert(words.begin(), kTapelens);
    Setting setting;
    setting.folder = folder_.path();
    return run(words, setting);
  }
  Outcome exported(Words options) {
    options.insert(options.begin(), {"export", "run.tapelens", "--format"});
    return here(options);
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  TemporaryFolder folder_;
};

TEST_F(Exporting, AFileIsNamedAfterTheRecordingAndSaidInOneLine) {
  for (const auto& [format, file] : {std::pair{"perfetto", "run.perfetto-trace"},
                                     {"snapshot", "run.pickle"},
                                     {"speedscope", "run.speedscope.json"},
                                     {"sqlite", "run.sqlite"}}) {
    const size_t before = files();
    const Outcome outcome = exported({format});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("tapelens: " + std::string(file) + " (")) << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(folder_ / file));
    EXPECT_EQ(files(), before + 1);
  }
}

TEST_F(Exporting, StandardOutputHasTheSameBytes) {
  exported({"speedscope", "-o", "out.json"});
  const Outcome outcome = exported({"speedscope", "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, read_file(folder_ / "out.json"));
  const Outcome refused = exported({"sqlite", "-o", "-"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("choose a file with -o"), std::string::npos) << refused.err;
}

TEST_F(Exporting, SomebodyElsesFileIsReplacedOnlyIfAskedFor) {
  write_file(folder_ / "run.sqlite", "mine");
  const Outcome refused = exported({"sqlite"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "tapelens: run.sqlite: exists, and is not a Tapelens sqlite export: choose another file with -o, or "
            "replace it with --force\n");
  EXPECT_EQ(read_file(folder_ / "run.sqlite"), "mine");
  EXPECT_EQ(exported({"sqlite", "--force"}).exit_code, 0);
  EXPECT_EQ(exported({"sqlite"}).exit_code, 0) << "its own is replaced";
  EXPECT_EQ(exported({"perfetto", "-o", "run.tapelens", "--force"}).exit_code, 2) << "the recording never is";
}

TEST_F(Exporting, WrongUsageIsExitCode2AndSaysWhatThereIs) {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"perfeto"}, "did you mean 'perfetto'"},
      {{"perfetto", "--process", "1"}, "nothing was allocated by that process"},
      {{"perfetto", "--device", "cuda:7"}, "(cpu)"},
      {{"perfetto", "--python", "python3"}, "--format parquet"},
      {{"parquet", "--device", "cpu"}, "all processes and devices"}};
  for (const auto& [options, said] : wrong) {
    const Outcome outcome = exported(options);
    EXPECT_EQ(outcome.exit_code, 2) << said;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
  EXPECT_EQ(here({"export", "run.tapelens"}).exit_code, 2);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Exporting, WhatIsDamagedOrCannotBeWrittenIsExitCode3) {
  std::string bytes = read_file(folder_ / "run.tapelens");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(folder_ / "damaged.tapelens", bytes);
  for (const char* format : {"perfetto", "snapshot", "speedscope", "sqlite"}) {
    const Outcome outcome = here({"export", "damaged.tapelens", "--format", format});
    EXPECT_EQ(outcome.exit_code, 3) << format;
    EXPECT_TRUE(outcome.err.starts_with("tapelens: damaged.tapelens: ")) << outcome.err;
    EXPECT_EQ(exported({format, "-o", "none/out"}).exit_code, 3);
    EXPECT_EQ(exported({format, "-o", "."}).exit_code, 2);
  }
  EXPECT_EQ(files(), 2u);
}

TEST_F(Exporting, ParquetIsThePythonPackages) {
  write_file(folder_ / "python", "#!/bin/sh\n[ \"$1\" = -c ] && exit \"$HAS_NOT\"\necho \"$@\"\n", true);
  const auto with = [&](const char* has_not, Words options) {
    options.insert(options.begin(), {kTapelens, "export", "run.tapelens", "--format", "parquet"});
    Setting setting;
    setting.folder = folder_.path();
    setting.environment = {std::string("HAS_NOT=") + has_not};
    return run(options, setting);
  };
  const Outcome written = with("0", {"--python", "./python"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "-m tapelens.parquet run.tapelens -o run.parquet\n");
  EXPECT_EQ(with("0", {"--python", "./python", "-o", "out"}).out, "-m tapelens.parquet run.tapelens -o out\n");
  const Outcome missing = with("1", {"--python", "./python"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("./python -m pip install"), std::string::npos) << missing.err;
  const Outcome none = with("0", {"--python", "./no-python"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("--python"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace tapelens::test
