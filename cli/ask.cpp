#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cli/child.h"
#include "policy/variables.h"
#include "trace/variables.h"

namespace tapelens::cli {

ProgramAnswer ask(const std::vector<std::string>& command, const std::string& preload) {
  ProgramAnswer answer;
  std::vector<const char*> words;
  for (const std::string& word : command) words.push_back(word.c_str());
  words.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {126, {}};
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    unsetenv(TAPELENS_SPOOL);
    unsetenv(TAPELENS_REWRITE);
    if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
    execvp(words[0], const_cast<char* const*>(words.data()));
    _exit(errno == ENOENT ? 127 : 126);
  }
  close(ends[1]);
  char text[4096];
  ssize_t got;
  while (child > 0 && ((got = read(ends[0], text, sizeof(text))) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) answer.output.append(text, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return {126, {}};
  answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

}  // namespace tapelens::cli
