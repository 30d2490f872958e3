// Runs a command as if it were started alone, and waits for it as a shell does (`record`, `run`, `verify`). Or watches
// a command and ends it (`fit`).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapelens::cli {

// Changes to this process's environment. A variable without a value is removed.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct ChildEnd {
  int exit_code = 0;  // the command's; 128+N if signal N ended it; 127 not found, 126 not executable
  bool started = false;
  std::string error;  // why it was not started, for the user
};

// Descriptors for the command's standard streams; -1: this process's own.
struct Streams {
  int input = -1, output = -1, error = -1;
};

// Signals that this process handles itself while the command runs. They are not forwarded. Also those among them that
// this process started with ignored; the command still ignores these.
struct OwnSignals {
  std::vector<int> signals = {};          // of SIGUSR1, SIGUSR2
  std::function<void(int)> arrived = {};  // called on the thread that waits for the command
};

// Signals while the command runs: the command handles those that the terminal sends to both (Ctrl-C, Ctrl-\, Ctrl-Z).
// This process forwards SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2, which may be sent to it alone.
// Afterwards SIGINT, SIGTERM and SIGHUP stay ignored, so that the recording is sealed; SIGQUIT ends this process. A
// further command starts with the dispositions that the first one had. `folder` is the working directory; empty: this
// process's.
ChildEnd run_command(const std::vector<std::string>& command, const Environment& extra, const Streams& streams = {},
                     const std::string& folder = {}, const OwnSignals& own = {});

struct WatchedEnd : ChildEnd {
  bool was_ended = false;  // ended by this process: the exit code means nothing
  int interrupted_by = 0;  // the signal that this process received
};

// Runs the command and all processes that it starts in a separate process group. Calls `is_enough` every 20 ms. Once it
// returns true, all these processes are killed with SIGKILL, so that no handler of the program runs. SIGINT, SIGTERM,
// SIGHUP or SIGQUIT has the same effect, also between two commands; so has the death of this process. Processes that
// the command leaves behind are killed too. This process is the child subreaper and may have no other children.
WatchedEnd run_watched(const std::vector<std::string>& command, const Environment& extra, const Streams& streams,
                       const std::function<bool()>& is_enough);

// Replaces this process with the command. Returns only on failure.
ChildEnd become_command(const std::vector<std::string>& command);

// ---- helper programs that give a short answer: Python or git
struct ProgramAnswer {
  int exit_code = 0;  // 127: not found; 126: not executable
  std::string output;
};
// Runs a command without standard input and discards its standard error; the answer is its output. `preload` may be
// empty.
ProgramAnswer ask(const std::vector<std::string>& command, const std::string& preload = {});

}  // namespace tapelens::cli
