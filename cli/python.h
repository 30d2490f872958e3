// A Python that is asked something for a moment.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

struct PythonAnswer {
  int exit_code = 0;  // 127: there is no such Python; 126: it cannot be executed
  std::string output;
};
// Runs `program` with `arguments` and no standard input. What it writes to standard error goes nowhere: the answer is
// in the output or there is none. `preload` may be empty.
PythonAnswer ask(const std::string& python, const char* program, const std::vector<std::string>& arguments,
                 const std::string& preload = {});

}  // namespace tapelens::cli
