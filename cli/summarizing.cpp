#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "analyzer/ranks/summary.h"
#include "cli/options.h"
#include "cli/sealing.h"
#include "plugins/builtin.h"
#include "trace/sealed_format.h"

namespace tapelens::cli {

namespace {

std::string summary_of(const std::string& file) {
  const auto run = run::Run::open(file);
  if (!run) return {};
  // Without plugins, which may be missing on the machine that reads the file.
  advise::Checks checks = plugins::builtin_checks();
  const bool is_small = run->recording().events() <= ranks::kMostEventsChecked;
  return ranks::summary_json(ranks::summarize(*run, is_small ? &checks : nullptr, TAPELENS_VERSION));
}

[[noreturn]] void work(const std::string& file, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL);
  // The terminal belongs to the program, so errors here are not shown; only the summary is missing.
  if (const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  stay_within_memory();
  std::string summary;
  try {
    summary = summary_of(file);
  } catch (const std::exception&) {  // out of memory for the columns
  }
  for (size_t at = 0; at < summary.size();) {
    const ssize_t wrote = write(out, summary.data() + at, summary.size() - at);
    if (wrote < 0 && errno != EINTR) _exit(1);
    at += wrote > 0 ? static_cast<size_t>(wrote) : 0;
  }
  _exit(0);
}

}  // namespace

std::string summarize_apart(const std::string& file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t worker = fork();
  if (worker == 0) work(file, ends[1]);
  close(ends[1]);
  std::string summary;
  char buffer[4096];
  while (worker > 0) {
    const ssize_t got = read(ends[0], buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    summary.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  return worker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? summary : std::string();
}

}  // namespace tapelens::cli
