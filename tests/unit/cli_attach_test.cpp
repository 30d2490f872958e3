// The facts about a process that `tapelens attach` reads, without a process.
#include <gtest/gtest.h>

#include "cli/running_python.h"

namespace tapelens::cli {
namespace {

TEST(RunningPython, TheVersionIsInTheName) {
  EXPECT_EQ(version_in_name("/usr/bin/python3.14"), (PythonVersion{3, 14}));
  EXPECT_EQ(version_in_name("/opt/python3.9/bin/python3.15t"), (PythonVersion{3, 15}));
  EXPECT_EQ(version_in_name("libpython3.11.so.1.0"), (PythonVersion{3, 11}));
  EXPECT_EQ(version_in_name("/opt/python3.9/bin/python"), std::nullopt);
  EXPECT_EQ(version_in_name("/usr/bin/python3"), std::nullopt);
  EXPECT_EQ(version_in_name("python3.x"), std::nullopt);
  EXPECT_EQ(version_in_name(""), std::nullopt);
  EXPECT_LT((PythonVersion{3, 9}), kFirstWithRemoteExec);
  EXPECT_GT((PythonVersion{4, 0}), kFirstWithRemoteExec);
}

TEST(RunningPython, KnowsInterpretersByName) {
  for (const char* path : {"/usr/bin/python3.14", "python", "/x/python3", "/x/python3.14t", "/x/python3.14td"})
    EXPECT_TRUE(is_interpreter_name(path)) << path;
  for (const char* path : {"/usr/bin/sleep", "/x/python3.14-config", "/x/ipython3", "/python3.14/bin/bash", ""})
    EXPECT_FALSE(is_interpreter_name(path)) << path;
}

TEST(RunningPython, FindsMappedFiles) {
  constexpr std::string_view kMaps =
      "7f00-7f01 r-xp 00000000 fe:00 12   /usr/lib/libc.so.6\n"
      "7f02-7f03 rw-p 00000000 00:00 0 \n"
      "7f04-7f05 r-xp 00000000 fe:00 13   /my folder/torch/lib/libtorch_cpu.so\n"
      "7f06-7f07 rw-s 00000000 fe:00 14   /tmp/run.tapelens.spool/12-34.spool (deleted)\n"
      "7f08-7f09 rw-p 00000000 00:00 0   [stack]";
  EXPECT_EQ(mapped_file(kMaps, "/libtorch_cpu.so"), "/my folder/torch/lib/libtorch_cpu.so");
  EXPECT_EQ(mapped_file(kMaps, ".spool"), "");
  EXPECT_EQ(mapped_file(kMaps, "libtorch"), "");
  EXPECT_EQ(mapped_file("", "x"), "");
}

TEST(RunningPython, KnowsWhenAProcessBegan) {
  EXPECT_EQ(began_ns("12 (a) b) S 1 12 12 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 250 1 1", 1'000, 100),
            1'000 + 2'500'000'000);
  EXPECT_EQ(began_ns("12 (a) S 1", 1'000, 100), 0);
  EXPECT_EQ(began_ns("", 1'000, 100), 0);
}

TEST(RunningPython, SaysWhyItIsRefused) {
  const std::string denied = refused_text("PermissionError: [Errno 1] Operation not permitted", "1");
  EXPECT_NE(denied.find("kernel.yama.ptrace_scope is 1"), std::string::npos) << denied;
  EXPECT_EQ(refused_text("PermissionError: x", "0").find("yama"), std::string::npos);
  EXPECT_EQ(refused_text("PermissionError: x", "").find("yama"), std::string::npos);
  const std::string off = refused_text("RuntimeError: Remote debugging is not enabled in the remote process", "0");
  EXPECT_NE(off.find("PYTHON_DISABLE_REMOTE_DEBUG"), std::string::npos) << off;
  EXPECT_NE(refused_text("OSError: other", "0").find("OSError: other"), std::string::npos);
}

}  // namespace
}  // namespace tapelens::cli
