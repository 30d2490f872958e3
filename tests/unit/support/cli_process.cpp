#include "tests/unit/support/cli_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace tapelens::test {
namespace {

std::string drain(int file) {
  std::string text;
  char piece[4096];
  ssize_t got;
  while ((got = read(file, piece, sizeof(piece))) > 0) text.append(piece, static_cast<size_t>(got));
  close(file);
  return text;
}

}  // namespace

Outcome run(const Words& command, const Setting& setting) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    if (setting.own_group) setpgid(0, 0);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const std::string& entry : setting.environment) putenv(const_cast<char*>(entry.c_str()));
    if (!setting.folder.empty() && chdir(setting.folder.c_str()) != 0) _exit(125);
    execvp(argv[0], argv.data());
    _exit(124);
  }
  close(in[0]);
  close(out[1]);
  close(err[1]);
  Outcome outcome;
  std::thread reader([&] { outcome.out = drain(out[0]); });
  std::thread error_reader([&] { outcome.err = drain(err[0]); });
  // A command that does not read its input must not end the test.
  std::thread writer([&] {
    if (!setting.input.empty() && write(in[1], setting.input.data(), setting.input.size()) < 0)
      outcome.err += "(input)";
    close(in[1]);
  });
  if (setting.meanwhile) setting.meanwhile(child);
  writer.join();
  reader.join();
  error_reader.join();
  int status = 0;
  waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tapelens-test-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

bool eventually(const std::function<bool()>& happened) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!happened()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void write_file(const std::filesystem::path& path, const std::string& text, bool executable) {
  std::ofstream(path) << text;
  if (executable) chmod(path.c_str(), 0755);
}

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace tapelens::test
