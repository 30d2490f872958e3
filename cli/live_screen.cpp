#include "cli/live_screen.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>

#include "analyzer/live/live_run.h"
#include "analyzer/live/screen.h"
#include "analyzer/text/escape.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace tapelens::cli {
namespace {

using live::LiveRun;

constexpr std::chrono::milliseconds kLivePoll{100};
constexpr int kPollsPerFrame = 2;

bool is_terminal_of(int descriptor) { return isatty(descriptor) != 0; }

}  // namespace

LiveScreen::LiveScreen(const std::string& folder, const std::string& output) {
  if (folder.empty()) return;
  if (is_terminal_of(STDOUT_FILENO) || is_terminal_of(STDERR_FILENO)) {
    say("--live shows nothing, because the program writes to this terminal: redirect its output (> log 2>&1), or use "
        "another terminal: tapelens top " +
        text::shell_quote(output));
    return;
  }
  terminal_ = open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (terminal_ < 0) {
    say("--live shows nothing, because this process has no terminal");
    return;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, folder, title = std::filesystem::path(output).filename().string()] {
    try {
      show(folder, title);
    } catch (const std::exception& error) {
      say(std::string("--live ended: ") + error.what());
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void LiveScreen::finish() {
  if (thread_.joinable()) {
    {
      const base::MutexLock guard(lock_);
      is_over_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  if (terminal_ >= 0) close(terminal_);
  terminal_ = -1;
}

bool LiveScreen::wait() {
  const base::MutexLock guard(lock_);
  return !over_.wait_for(lock_, kLivePoll, [this] {
    lock_.assert_held();
    return is_over_;
  });
}

void LiveScreen::show(const std::string& folder, const std::string& title) {
  LiveRun run({title, folder, {}});
  Terminal terminal(terminal_, -1);
  text::Style style = style_of({}, is_color_wanted(terminal_) ? "always" : "never");
  std::string shown;
  TerminalSize last;
  for (int polls = 0; wait(); ++polls) {
    run.poll(LiveRun::Clock::now() + kLivePoll);
    if (polls % kPollsPerFrame != 0) continue;
    const TerminalSize size = terminal_size(terminal_);
    style.width = std::max(size.columns, 60U);
    const size_t process = live::main_process(run.processes());
    const size_t device = run.processes().empty() ? 0 : live::main_device(*run.processes()[process]);
    std::string page = live::screen(run.processes(), {.title = title,
                                                      .style = style,
                                                      .rows = size.rows,
                                                      .process = process,
                                                      .device = device,
                                                      .keys = "this screen ends with the program"});
    if (page == shown && size == last) continue;
    if (!terminal.show(page)) continue;
    shown = std::move(page);
    last = size;
  }
}

}  // namespace tapelens::cli
