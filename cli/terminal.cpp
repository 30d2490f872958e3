#include "cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

namespace tapelens::cli {
namespace {

// The alternate screen, no cursor, no wrap of long lines; and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
constexpr std::string_view kLeave = "\033[?7h\033[?25h\033[?1049l";
// Terminals that know synchronized updates show a frame at once; others ignore the sequences.
constexpr std::string_view kBegin = "\033[?2026h\033[H", kEnd = "\033[J\033[?2026l";

// Signals that end or stop this process, and those of a crash.
constexpr std::array kLeavingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kCrashSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

// The state that a signal handler needs.
struct Restored {
  volatile sig_atomic_t is_shown = 0, has_modes = 0;
  int output = -1, input = -1;
  termios modes{}, own_modes{};
};
Restored g_restored;
volatile sig_atomic_t g_interrupted = 0, g_resized = 0, g_stopped = 0;

// Time for which a terminal that does not block may take nothing: while it shows, and at its end.
constexpr int kFrameWait = 50, kLastWait = 1000;  // ms

// Async-signal-safe. Returns the rest of the text, which a terminal that does not block took not within `wait`.
std::string_view write_some(int descriptor, std::string_view text, int wait) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      if (poll(&room, 1, wait) == 0) return text;
    } else if (written == 0 || errno != EINTR) {
      return {};
    }
  }
  return {};
}

// Whether the user stopped the output (Ctrl-S), or the terminal is slow.
bool is_stopped(int descriptor) {
  pollfd room{descriptor, POLLOUT, 0};
  return poll(&room, 1, 0) == 0;
}

void leave() {
  if (g_restored.is_shown != 0) {
    g_restored.is_shown = 0;
    write_some(g_restored.output, kLeave, kLastWait);
  }
  if (g_restored.has_modes != 0) tcsetattr(g_restored.input, TCSADRAIN, &g_restored.modes);
}

void enter() {
  if (g_restored.has_modes != 0) tcsetattr(g_restored.input, TCSADRAIN, &g_restored.own_modes);
  g_restored.is_shown = 1;
  write_some(g_restored.output, kEnter, kFrameWait);
}

void note(int signal) {
  if (signal == SIGWINCH) {
    g_resized = 1;
  } else if (signal == SIGTSTP) {
    g_stopped = 1;
  } else {
    g_interrupted = signal;
  }
}

void crash(int signal) {
  leave();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

Terminal::Terminal(int output, int input) : output_(output), input_(input) {
  g_restored = Restored();
  g_restored.output = output;
  g_restored.input = input;
  g_interrupted = 0;
  g_resized = 0;
  g_stopped = 0;
  for (const int signal : kCrashSignals) handle(signal, crash);
  if (input >= 0) {
    if (tcgetattr(input, &g_restored.modes) == 0) {
      g_restored.own_modes = g_restored.modes;
      g_restored.own_modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      g_restored.own_modes.c_cc[VMIN] = 0;
      g_restored.own_modes.c_cc[VTIME] = 0;
      g_restored.has_modes = 1;
    }
    for (const int signal : kLeavingSignals) handle(signal, note);
    handle(SIGTSTP, note);
    handle(SIGWINCH, note);
  }
  enter();
}

Terminal::~Terminal() {
  if (is_stopped(output_)) {  // only output that tcflow() stopped can be started by it
    tcflow(output_, TCOOFF);
    tcflow(output_, TCOON);
  }
  write_some(output_, unwritten_, kLastWait);
  leave();
  g_restored.has_modes = 0;
  for (const int signal : kCrashSignals) handle(signal, SIG_DFL);
  if (input_ < 0) return;
  for (const int signal : kLeavingSignals) handle(signal, SIG_DFL);
  handle(SIGTSTP, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
}

bool Terminal::show(std::string_view lines) {
  unwritten_ = std::string(write_some(output_, unwritten_, 0));
  if (!unwritten_.empty()) return false;
  std::string frame(kBegin);
  size_t rows = terminal_size(output_).rows;
  while (!lines.empty() && rows > 0) {
    const size_t end = lines.find('\n');
    frame += lines.substr(0, end);
    frame += "\033[K";
    if (--rows > 0) frame += "\r\n";
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  frame += kEnd;
  unwritten_ = std::string(write_some(output_, frame, kFrameWait));
  return true;
}

Terminal::Event Terminal::wait(std::chrono::milliseconds timeout, char& key) {
  // The signals are blocked outside of the wait, so that none comes just before it unseen.
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int signal : kLeavingSignals) sigaddset(&watched, signal);
  sigaddset(&watched, SIGTSTP);
  sigaddset(&watched, SIGWINCH);
  sigprocmask(SIG_BLOCK, &watched, &before);
  pollfd keys{input_, POLLIN, 0};
  const timespec time{timeout.count() / 1000, timeout.count() % 1000 * 1'000'000};
  const bool is_noted = g_interrupted != 0 || g_resized != 0 || g_stopped != 0;
  const int ready = is_noted ? 0 : ppoll(&keys, 1, &time, &before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (g_stopped != 0) {
    g_stopped = 0;
    leave();
    raise(SIGSTOP);
    enter();
    return Event::resized;
  }
  if (g_interrupted != 0) return Event::interrupted;
  if (g_resized != 0) {
    g_resized = 0;
    return Event::resized;
  }
  if (ready <= 0) return Event::timeout;
  const ssize_t got = read(input_, &key, 1);
  if (got == 1) return Event::key;
  // The terminal is gone.
  if (got == 0 && (keys.revents & POLLHUP) == 0) return Event::timeout;
  g_interrupted = SIGHUP;
  return Event::interrupted;
}

int Terminal::interrupted_by() const { return g_interrupted; }

}  // namespace tapelens::cli
