#include "cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tapelens::cli {
namespace {

// Passed on unless this process was started with them ignored (nohup): then the command ignores them too.
constexpr std::array kForwarded = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
// The terminal sends these to the command as well.
constexpr std::array kLeftToTheCommand = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};

void dispose(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

// What the signals that are touched here do before the first command is run.
struct Dispositions {
  static constexpr std::array kTouched = {SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2, SIGINT, SIGQUIT,
                                          SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGPIPE};
  std::array<struct sigaction, kTouched.size()> action{};
  sigset_t mask{};
  Dispositions() {
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    for (size_t i = 0; i < kTouched.size(); ++i) sigaction(kTouched[i], nullptr, &action[i]);
  }
  const struct sigaction& of(int signal) const {
    return action[static_cast<size_t>(std::find(kTouched.begin(), kTouched.end(), signal) - kTouched.begin())];
  }
  void restore() const {  // async-signal-safe
    for (size_t i = 0; i < kTouched.size(); ++i) sigaction(kTouched[i], &action[i], nullptr);
  }
};

std::vector<char*> arguments(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

ChildEnd not_started(const std::string& name, int error) {
  ChildEnd end;
  end.exit_code = error == ENOENT || error == ENOTDIR ? 127 : 126;
  const bool searched = name.find('/') == std::string::npos;
  end.error = name + ": " + (error == ENOENT && searched ? "command not found" : std::strerror(error));
  return end;
}

// The terminal stopped the command: stop with it, so that the shell sees a stopped job, and go on together.
void stop_with(pid_t child, int signal) {
  if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return;
  raise(SIGSTOP);
  kill(child, SIGCONT);
}

// All signals of `watched` are blocked here, and so wait in the queue: nothing can be passed on to a process that is
// gone, or get lost between two calls.
int wait_for(pid_t child, const sigset_t& watched) {
  for (;;) {
    int status = 0;
    pid_t seen;
    while ((seen = waitpid(child, &status, WNOHANG | WUNTRACED)) == child) {
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
      if (WIFSTOPPED(status)) stop_with(child, WSTOPSIG(status));
    }
    const int signal = sigwaitinfo(&watched, nullptr);
    if (signal > 0 && signal != SIGCHLD) kill(child, signal);
  }
}

}  // namespace

ChildEnd become_command(const std::vector<std::string>& command) {
  execvp(command[0].c_str(), arguments(command).data());
  return not_started(command[0], errno);
}

ChildEnd run_command(const std::vector<std::string>& command, const Environment& extra, const Streams& streams) {
  static const Dispositions at_first;
  // Everything that allocates is done before the fork.
  const std::vector<char*> argv = arguments(command);
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : extra) replaced |= key == name;
    if (!replaced) settings.emplace_back(text);
  }
  for (const auto& [key, value] : extra) {
    if (!value.empty()) settings.push_back(key + "=" + value);
  }
  std::vector<char*> envp;
  for (std::string& setting : settings) envp.push_back(setting.data());
  envp.push_back(nullptr);

  int news[2];  // closed by a successful exec, else carries errno
  if (pipe2(news, O_CLOEXEC) != 0) return not_started(command[0], errno);

  sigset_t watched, before;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : kForwarded) {
    if (at_first.of(signal).sa_handler != SIG_IGN) sigaddset(&watched, signal);
  }
  // Blocked for as long as the dispositions are in between: whatever comes meets either the old or the new world.
  sigset_t all = watched;
  for (const int signal : kLeftToTheCommand) sigaddset(&all, signal);
  sigprocmask(SIG_BLOCK, &all, &before);
  dispose(SIGCHLD, SIG_DFL);  // ignored, it would take the exit status away

  const pid_t child = fork();
  if (child == 0) {
    at_first.restore();
    sigprocmask(SIG_SETMASK, &at_first.mask, nullptr);
    if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
    if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
    if (streams.error >= 0) dup2(streams.error, STDERR_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    if (write(news[1], &error, sizeof(error)) < 0) _exit(126);
    _exit(127);
  }
  const int fork_error = errno;
  close(news[1]);
  if (child < 0) {
    close(news[0]);
    at_first.restore();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return not_started(command[0], fork_error);
  }
  for (const int signal : kLeftToTheCommand) dispose(signal, SIG_IGN);
  sigset_t left;
  sigemptyset(&left);
  for (const int signal : kLeftToTheCommand) sigaddset(&left, signal);
  sigprocmask(SIG_UNBLOCK, &left, nullptr);

  int exec_error = 0;
  ssize_t got;
  while ((got = read(news[0], &exec_error, sizeof(exec_error))) < 0 && errno == EINTR) {
  }
  close(news[0]);
  ChildEnd end;
  end.exit_code = wait_for(child, watched);
  end.started = got != sizeof(exec_error);
  if (!end.started) end = not_started(command[0], exec_error);

  for (const int signal : kForwarded) dispose(signal, SIG_IGN);
  dispose(SIGQUIT, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &watched, nullptr);
  return end;
}

}  // namespace tapelens::cli
