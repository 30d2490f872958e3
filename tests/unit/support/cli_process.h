// Runs the built `tapelens`, or another command, from a test and returns its outcome.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tapelens::test {

struct Outcome {
  int exit_code = -1;  // -N if signal N ended it
  std::string out, err;
};

struct Setting {
  std::string input;                     // standard input
  std::filesystem::path folder;          // working directory
  bool own_group = false;                // as a job of a shell
  std::vector<std::string> environment;  // NAME=VALUE
  std::function<void(pid_t)> meanwhile;  // called while it runs
};

using Words = std::vector<std::string>;
Outcome run(const Words& command, const Setting& setting = {});

// A folder that the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Waits until `happened`, at most ten seconds. Returns whether it did.
bool eventually(const std::function<bool()>& happened);

void write_file(const std::filesystem::path& path, const std::string& text, bool executable = false);
std::string read_file(const std::filesystem::path& path);

}  // namespace tapelens::test
