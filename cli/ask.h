// Runs a helper program for a short answer: Python or git.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

struct ProgramAnswer {
  int exit_code = 0;  // 127: not found; 126: not executable
  std::string output;
};
// Runs a command without standard input and discards its standard error; the answer is its output. `preload` may be
// empty.
ProgramAnswer ask(const std::vector<std::string>& command, const std::string& preload = {});

}  // namespace tapelens::cli
