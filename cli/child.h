// Runs a command as if it had been started alone, and waits for it as a shell would: `record`, `run` and `verify`. Or
// watches over it and ends it: `fit`.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapelens::cli {

// Set on top of this process's environment; what has no value is taken out of it.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct ChildEnd {
  int exit_code = 0;  // the command's; 128+N if signal N ended it; 127 not found, 126 not executable
  bool started = false;
  std::string error;  // if it was not started: why, for the user
};

// Descriptors that take the place of the command's own; -1: those of this process.
struct Streams {
  int input = -1, output = -1, error = -1;
};

// Signals while it runs: those that the terminal sends to both (Ctrl-C, Ctrl-\, Ctrl-Z) are left to the command;
// SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2, which can be meant for this process only, are passed on. Afterwards
// SIGINT, SIGTERM and SIGHUP stay ignored, so that the recording is sealed; SIGQUIT ends this process. Another command
// that is run then has the dispositions that the first one had. `folder`: in which it runs; empty: this process's.
ChildEnd run_command(const std::vector<std::string>& command, const Environment& extra, const Streams& streams = {},
                     const std::string& folder = {});

struct WatchedEnd : ChildEnd {
  bool was_ended = false;  // by us: the exit code says nothing
  int interrupted_by = 0;  // the signal that this process was sent
};

// The command in a process group of its own, with everything that it starts: `is_enough` is asked every 20 ms, and once
// it says so all of these are killed, so that no handler of the program runs. The same when SIGINT, SIGTERM, SIGHUP or
// SIGQUIT comes, also between two commands, and when this process dies. What the command leaves running when it ends is
// killed too. This process becomes the parent of whoever loses its own, and may have no other children.
WatchedEnd run_watched(const std::vector<std::string>& command, const Environment& extra, const Streams& streams,
                       const std::function<bool()>& is_enough);

// Becomes the command. Comes back only if that failed.
ChildEnd become_command(const std::vector<std::string>& command);

}  // namespace tapelens::cli
