// A program that is asked something for a moment: a Python, git.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

struct ProgramAnswer {
  int exit_code = 0;  // 127: there is no such program; 126: it cannot be executed
  std::string output;
};
// Runs a command without standard input. What it writes to standard error goes nowhere: the answer is
// in the output or there is none. `preload` may be empty.
ProgramAnswer ask(const std::vector<std::string>& command, const std::string& preload = {});

}  // namespace tapelens::cli
