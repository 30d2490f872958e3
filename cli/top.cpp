// tapelens top: shows the memory of a program while `tapelens record` records it. It only reads the spools: nothing
// runs in the program.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/live/screen.h"
#include "cli/commands.h"
#include "cli/live_target.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

using live::LiveRun;
using Clock = LiveRun::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kTopPoll{100}, kTopDraw{200};
constexpr std::chrono::seconds kBetweenPages{10};
constexpr const char* kKeys = "q quit   n, p next and previous process   d next device";

struct TopCommand {
  std::string target, color = "auto";
  std::optional<int64_t> interval;  // ns
  bool once = false;
};

// The selected process and device. Until the user selects one, those with the largest peak.
struct Selection {
  std::optional<size_t> process, device;

  void move(char key, const LiveRun& run) {
    const size_t count = run.processes().size();
    if (count == 0) return;
    const size_t now = process_in(run);
    if (key == 'n' || key == 'p') {
      process = (now + (key == 'n' ? 1 : count - 1)) % count;
      device.reset();
    } else if (key == 'd') {
      device = (device_in(run) + 1) % std::max<size_t>(1, live::count_devices(*run.processes()[now]));
    }
  }
  size_t process_in(const LiveRun& run) const { return process.value_or(live::main_process(run.processes())); }
  size_t device_in(const LiveRun& run) const {
    if (device || run.processes().empty()) return device.value_or(0);
    return live::main_device(*run.processes()[process_in(run)]);
  }
};

std::string page(const LiveRun& run, const Selection& selection, const text::Style& style, size_t rows,
                 const std::string& keys) {
  return live::screen(run.processes(), {.title = run.title(),
                                        .style = style,
                                        .rows = rows,
                                        .process = selection.process_in(run),
                                        .device = selection.device_in(run),
                                        .keys = keys});
}

// Reads until nothing more is committed.
void read_all(LiveRun& run) {
  while (!run.poll(Clock::time_point::max())) {
  }
}

// Without a terminal: a page now, or one after each interval until the end.
int print_pages(LiveRun& run, const TopCommand& command) {
  constexpr size_t kRows = 40;
  const text::Style style = style_of({}, command.color);
  const auto every =
      command.interval ? std::chrono::nanoseconds(*command.interval) : std::chrono::nanoseconds(kBetweenPages);
  for (auto next = Clock::now();; next += every) {
    bool is_over = false;
    do {
      read_all(run);
      is_over = command.once || run.is_over();
      if (!is_over && Clock::now() < next) usleep(static_cast<useconds_t>(std::chrono::microseconds(kTopPoll).count()));
    } while (!is_over && Clock::now() < next);
    if (const int code = print_output(page(run, {}, style, kRows, "")); code != kFine || is_over) return code;
    if (const int code = print_output("\n")) return code;
  }
}

int show_screens(LiveRun& run, const TopCommand& command) {
  text::Style style = style_of({}, command.color);
  const auto every =
      command.interval ? std::chrono::nanoseconds(*command.interval) : std::chrono::nanoseconds(kTopDraw);
  int signal = 0;
  {
    Terminal terminal(STDOUT_FILENO, STDIN_FILENO);
    Selection selection;
    Clock::time_point next_draw{};
    std::string shown;
    for (bool is_open = true; is_open;) {
      const bool is_all = run.poll(Clock::now() + kTopPoll);
      if (Clock::now() >= next_draw) {
        const TerminalSize size = terminal_size(STDOUT_FILENO);
        style.width = std::max(size.columns, 60U);
        std::string text = page(run, selection, style, size.rows, kKeys);
        if (text != shown) terminal.show(text);
        shown = std::move(text);
        next_draw = Clock::now() + every;
      }
      char key = 0;
      switch (terminal.wait(is_all ? kTopPoll : milliseconds(0), key)) {
        case Terminal::Event::key:
          is_open = key != 'q' && key != 'Q';
          selection.move(key, run);
          next_draw = {};
          break;
        case Terminal::Event::resized:
          shown.clear();
          next_draw = {};
          break;
        case Terminal::Event::interrupted:
          signal = terminal.interrupted_by();
          is_open = false;
          break;
        case Terminal::Event::timeout:
          break;
      }
    }
  }
  // The screen is gone: its main figures stay.
  if (!run.processes().empty()) {
    const auto& process = run.processes()[live::main_process(run.processes())];
    say(run.title() + ": " + live::summary(*process));
  }
  if (signal != 0) raise(signal);
  return kFine;
}

int top(const TopCommand& command) {
  auto target = find_live_target(command.target);
  if (!target) return fail(target.error());
  stay_within_memory();
  LiveRun run(std::move(*target));
  const bool is_terminal = isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0;
  if (command.once || !is_terminal) return print_pages(run, command);
  return show_screens(run, command);
}

}  // namespace

CommandFunction declare_top(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens top   the recording in progress in this folder\n"
      "  tapelens top run.tapelens   the one that will be this file\n"
      "  tapelens top 12345   the one of a recorded process\n"
      "  tapelens top --once   print one screen as text\n"
      "  tapelens top --interval 60s > memory.log   print one each minute until the program ends\n"
      "\n"
      "Record in one terminal and follow in another. Keys: q quits, n and p change the process, d the device. The "
      "program is not slowed down: tapelens top only reads the files that it writes. Categories are those known so "
      "far; tapelens report has those of the whole run.\n"
      "\n"
      "Exit codes:\n"
      "  0   success\n"
      "  2   wrong usage, or no program is recorded here\n"
      "  3   the recording cannot be read, or is complete");
  const auto options = std::make_shared<TopCommand>();
  sub.add_option("RECORDING", options->target,
                 "The recording that is being written, its folder FILE.spool/, one spool, or a pid; by default the "
                 "newest in this folder")
      ->type_name("");
  sub.add_flag("--once", options->once, "Print one screen as text and exit");
  sub.add_option("--interval", "Time between two screens, like 0.5s; by default 0.2s, without a terminal 10s")
      ->type_name("TIME")
      ->each([options](const std::string& text) {
        options->interval = parse_duration(text);
        if (!options->interval) throw CLI::ValidationError("--interval", "'" + text + "' is not a time, like 10s");
      });
  add_color_option(sub, options->color);
  return [options](const Words&) { return top(*options); };
}

}  // namespace tapelens::cli
