#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "cli/applying.h"
#include "cli/output.h"

namespace tapelens::cli {
namespace {

constexpr std::string_view kBetween = " \t\n=,;:'\"()<>|&@";  // separates names within a word

bool is_file(const std::string& path) {
  struct stat facts {};
  return !path.empty() && path.size() < PATH_MAX && stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// The path that execvp finds; empty if it finds none.
std::string found_in_path(const std::string& program) {
  const char* folders = getenv("PATH");
  if (folders == nullptr || program.find('/') != std::string::npos) return {};
  for (std::string_view left = folders;;) {
    const size_t end = std::min(left.find(':'), left.size());
    const std::string path = std::string(end == 0 ? "." : left.substr(0, end)) + "/" + program;
    if (is_file(path) && access(path.c_str(), X_OK) == 0) return path;
    if (end == left.size()) return {};
    left.remove_prefix(end + 1);
  }
}

void add_files(std::string_view word, std::vector<std::string>& files) {
  const auto add = [&](std::string_view name) {
    if (name.size() >= PATH_MAX) return;  // avoids a copy of a long script for each of its words
    if (std::string path(name); is_file(path)) files.push_back(std::move(path));
  };
  add(word);
  for (size_t at = 0; at < word.size();) {
    const size_t end = std::min(word.find_first_of(kBetween, at), word.size());
    if (end - at < word.size()) add(word.substr(at, end - at));
    // The rest after the first separator may contain separators in its name: --config=a,b.yaml.
    if (end < word.size()) add(word.substr(end + 1));
    at = end + 1;
  }
}

}  // namespace

std::vector<std::string> files_in_command(const std::vector<std::string>& command) {
  std::vector<std::string> files;
  if (!command.empty()) files.push_back(found_in_path(command[0]));
  for (const std::string& word : command) add_files(word, files);
  return files;
}

std::vector<std::string> files_in(const ApplyingOptions& options) {
  std::vector<std::string> files = options.apply;  // a level is not a file, unless a file has that name
  files.insert(files.end(), options.plugins.begin(), options.plugins.end());
  return files;
}

}  // namespace tapelens::cli
