// A recorded run that is ended after some optimizer steps: `fit` and `budget` make many of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/preload.h"
#include "cli/simulating.h"
#include "trace/output.h"
#include "trace/result.h"
#include "trace/seal.h"

namespace tapelens::cli {

// The recording and the log of one run of `verify`, `fit` or `budget`; --keep keeps them.
struct KeptRun {
  std::string recording, log;  // paths; no log: the output of the run is shown
  bool is_forced = false;      // --force
  std::vector<std::string> inputs = {};

  // Whether both files may be written; call before the run.
  trace::Status check() const;
  // Does nothing without spools.
  trace::Result<trace::SealSummary> seal(const trace::SealOptions& options) const;
  // If the run left no recording, marks the log as a file of Tapelens.
  void note(const trace::SealSummary& sealed) const;
};

struct ShortRunSettings {
  std::vector<std::string> command;
  KeptRun files;                   // the recording, and the log of the command's output
  bool is_kept = false;            // keep both files
  uint64_t steps = 0;              // 0: run to the end
  std::chrono::nanoseconds limit;  // time limit of the run
  bool is_shown = false;           // show the command's output on standard error
  std::string progress;            // text of its progress line
  Environment environment{};       // in addition to the variables for recording and simulation
  std::optional<double> activation_budget{};
};

struct ShortRun {
  WatchedEnd end;
  bool is_late = false;       // ended by the time limit
  trace::SealSummary sealed;  // without a process, no recording was written
  std::string written;        // the end of the command's output
};

// None: the user interrupted it. An error: the command could not run, or the recording cannot be written.
trace::Result<std::optional<ShortRun>> short_run(const ShortRunSettings& settings, const PreloadPath& preload,
                                                 const Simulation& simulation);

// A phrase that says why the recording gives no valid peak; empty if it does.
std::string why_incomplete(const trace::SealSummary& sealed);

// Reads the time limit of an option: "10m". Throws CLI::ValidationError with one sentence.
std::chrono::nanoseconds read_limit(const std::string& text);
// Reads the number of steps of an option: "3", or 0 for all. Throws likewise for fewer than `least`.
uint64_t read_steps(const std::string& text, uint64_t least);
// Makes the folder of --keep, or a temporary one.
trace::Result<std::string> folder_for_runs(const std::string& keep, std::optional<TemporaryFolder>& temporary);

}  // namespace tapelens::cli
