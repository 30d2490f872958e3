#include "cli/git.h"

#include "cli/ask.h"

namespace tapelens::cli {

std::optional<std::string> git(const std::string& folder, const std::vector<std::string>& words) {
  std::vector<std::string> command{"git", "-C", folder};
  command.insert(command.end(), words.begin(), words.end());
  ProgramAnswer answer = ask(command);
  if (answer.exit_code != 0) return std::nullopt;
  return std::move(answer.output);
}

}  // namespace tapelens::cli
