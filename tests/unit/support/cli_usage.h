// Helpers for commands that run a command, and for their usage errors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/support/cli_process.h"

namespace tapelens::test {

// `tapelens NAME OPTIONS... -- COMMAND...`
inline Outcome run_with_command(const std::string& name, Words options, const Words& command) {
  options.insert(options.begin(), {TAPELENS_TEST_TREE "/bin/tapelens", name});
  options.push_back("--");
  options.insert(options.end(), command.begin(), command.end());
  return run(options);
}

// Expects a usage error: exit code 2, no output, and one line of error that contains `part`.
inline void expect_one_line(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

}  // namespace tapelens::test
