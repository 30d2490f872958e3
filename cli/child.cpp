#include "cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace tapelens::cli {
namespace {

// Forwarded, unless this process started with them ignored (nohup): then the command ignores them too.
constexpr std::array kForwarded = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
// Signals that end a watched command.
constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr timespec kWatchEvery = {0, 20'000'000};
// The terminal sends these to the command as well.
constexpr std::array kLeftToTheCommand = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};

void dispose(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

// The dispositions of the signals that this file changes, before the first command runs.
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

// If the terminal stops the command, this process stops too, so that the shell sees a stopped job. Both continue
// together.
void stop_with(pid_t child, int signal) {
  if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU) return;
  raise(SIGSTOP);
  kill(child, SIGCONT);
}

// All signals in `watched` are blocked here and stay pending until sigwaitinfo. None is forwarded to a process that has
// ended, or lost between two calls.
int wait_for(pid_t child, const sigset_t& watched, const OwnSignals& own) {
  for (;;) {
    int status = 0;
    pid_t seen;
    while ((seen = waitpid(child, &status, WNOHANG | WUNTRACED)) == child) {
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
      if (WIFSTOPPED(status)) stop_with(child, WSTOPSIG(status));
    }
    const int signal = sigwaitinfo(&watched, nullptr);
    if (signal <= 0 || signal == SIGCHLD) continue;
    if (std::ranges::find(own.signals, signal) != own.signals.end()) {
      own.arrived(signal);
    } else {
      kill(child, signal);
    }
  }
}

}  // namespace

ChildEnd become_command(const std::vector<std::string>& command) {
  execvp(command[0].c_str(), arguments(command).data());
  return not_started(command[0], errno);
}

namespace {

// Starts a command: allocates before the fork, and reports an exec error after it.
class Start {
 public:
  Start(const std::vector<std::string>& command, const Environment& extra, std::string folder = {})
      : argv_(arguments(command)), folder_(std::move(folder)) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      const std::string_view name = text.substr(0, text.find('='));
      bool replaced = false;
      for (const auto& [key, value] : extra) replaced |= key == name;
      if (!replaced) settings_.emplace_back(text);
    }
    for (const auto& [key, value] : extra) {
      if (!value.empty()) settings_.push_back(key + "=" + value);
    }
    for (std::string& setting : settings_) envp_.push_back(setting.data());
    envp_.push_back(nullptr);
    error_ = pipe2(news_, O_CLOEXEC) == 0 ? 0 : errno;  // a successful exec closes the pipe; otherwise it carries errno
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  // Returns the child, or 0 or less on failure. Calls `before` in the child first; it must be async-signal-safe.
  template <class Before>
  pid_t fork(const Dispositions& at_first, const Streams& streams, Before before) {
    if (error_ != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      before();
      at_first.restore();
      sigprocmask(SIG_SETMASK, &at_first.mask, nullptr);
      if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
      if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
      if (streams.error >= 0) dup2(streams.error, STDERR_FILENO);
      if (folder_.empty() || chdir(folder_.c_str()) == 0) execvpe(argv_[0], argv_.data(), envp_.data());
      const int error = errno;
      if (write(news_[1], &error, sizeof(error)) < 0) _exit(126);
      _exit(127);
    }
    error_ = child < 0 ? errno : 0;
    close(news_[1]);
    if (child < 0) close(news_[0]);
    return child;
  }
  // Call after fork(). Waits until exec succeeds or fails.
  void wait_for_exec() {
    int error = 0;
    ssize_t got;
    while ((got = read(news_[0], &error, sizeof(error))) < 0 && errno == EINTR) {
    }
    close(news_[0]);
    if (got == sizeof(error)) error_ = error;
  }
  int error() const { return error_; }

 private:
  std::vector<char*> argv_, envp_;
  std::vector<std::string> settings_;
  std::string folder_;
  int news_[2] = {-1, -1};
  int error_ = 0;
};

const Dispositions& dispositions_at_first() {
  static const Dispositions at_first;
  return at_first;
}

}  // namespace

ChildEnd run_command(const std::vector<std::string>& command, const Environment& extra, const Streams& streams,
                     const std::string& folder, const OwnSignals& own) {
  const Dispositions& at_first = dispositions_at_first();
  Start start(command, extra, folder);  // allocates everything before the fork
  sigset_t watched, before;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : kForwarded) {
    if (at_first.of(signal).sa_handler != SIG_IGN) sigaddset(&watched, signal);
  }
  for (const int signal : own.signals) sigaddset(&watched, signal);
  // Blocks all signals while the dispositions change, so that a signal meets either all old or all new ones.
  sigset_t all = watched;
  for (const int signal : kLeftToTheCommand) sigaddset(&all, signal);
  sigprocmask(SIG_BLOCK, &all, &before);
  dispose(SIGCHLD, SIG_DFL);                                      // if it were ignored, the exit status would be lost
  for (const int signal : own.signals) dispose(signal, SIG_DFL);  // an ignored signal would never become pending

  const pid_t child = start.fork(at_first, streams, [] {});
  if (child < 0) {
    at_first.restore();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return not_started(command[0], start.error());
  }
  for (const int signal : kLeftToTheCommand) dispose(signal, SIG_IGN);
  sigset_t left;
  sigemptyset(&left);
  for (const int signal : kLeftToTheCommand) sigaddset(&left, signal);
  sigprocmask(SIG_UNBLOCK, &left, nullptr);

  start.wait_for_exec();
  ChildEnd end;
  end.exit_code = wait_for(child, watched, own);
  end.started = start.error() == 0;
  if (!end.started) end = not_started(command[0], start.error());

  for (const int signal : kForwarded) dispose(signal, SIG_IGN);
  dispose(SIGQUIT, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &watched, nullptr);
  return end;
}

// ---- watched commands

namespace {

// The children of this process, including orphans that it adopted.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    FILE* file = fopen((entry.path() / "stat").c_str(), "re");
    if (file == nullptr) continue;
    char line[512] = {};
    const size_t got = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    // "12 (a name) S 11": the name may contain anything.
    const char* behind = got > 0 ? strrchr(line, ')') : nullptr;
    int parent = 0;
    if (behind != nullptr && sscanf(behind + 1, " %*c %d", &parent) == 1 && parent == getpid()) {
      found.push_back(static_cast<pid_t>(strtol(name.c_str(), nullptr, 10)));
    }
  }
  return found;
}

// Repeats until no child is left, because the children of a killed process become ours. A pid is not reused before
// waitpid().
void end_children() {
  for (std::vector<pid_t> all = children(); !all.empty(); all = children()) {
    for (const pid_t child : all) kill(child, SIGKILL);
    for (const pid_t child : all) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
}

}  // namespace

WatchedEnd run_watched(const std::vector<std::string>& command, const Environment& extra, const Streams& streams,
                       const std::function<bool()>& is_enough) {
  const Dispositions& at_first = dispositions_at_first();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Start start(command, extra);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : kEnding) {
    if (at_first.of(signal).sa_handler != SIG_IGN) sigaddset(&watched, signal);
  }
  sigprocmask(SIG_BLOCK, &watched, nullptr);  // stays blocked: a signal between two commands ends the next one
  dispose(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid();
  const pid_t child = start.fork(at_first, streams, [parent] {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
  });
  WatchedEnd end;
  if (child < 0) {
    static_cast<ChildEnd&>(end) = not_started(command[0], start.error());
    return end;
  }
  start.wait_for_exec();
  end.started = start.error() == 0;
  for (int status = 0;;) {
    if (waitpid(child, &status, WNOHANG) == child) {
      end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      break;
    }
    const int signal = sigtimedwait(&watched, nullptr, &kWatchEvery);
    if (signal > 0) end.interrupted_by = signal;
    if (signal > 0 || is_enough()) {
      end.was_ended = true;
      break;
    }
  }
  end_children();
  if (!end.started) static_cast<ChildEnd&>(end) = not_started(command[0], start.error());
  return end;
}

}  // namespace tapelens::cli
