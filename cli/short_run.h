// A recorded run of a command that is ended after some steps of the optimizer: `fit` and `budget` make many of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/kept_run.h"
#include "cli/preload.h"
#include "cli/simulating.h"
#include "trace/result.h"
#include "trace/seal.h"

namespace tapelens::cli {

struct ShortRunSettings {
  std::vector<std::string> command;
  KeptRun files;                   // for what is sealed, and for what the command writes
  bool is_kept = false;            // they stay
  uint64_t steps = 0;              // 0: to the end
  std::chrono::nanoseconds limit;  // for it
  bool is_shown = false;           // what the command writes goes to standard error
  std::string progress;            // what its progress line says
  Environment environment{};       // besides what records it and simulates
  std::string activation_budget{};
};

struct ShortRun {
  WatchedEnd end;
  bool is_late = false;       // the limit was what ended it
  trace::SealSummary sealed;  // without a process there is no recording
  std::string written;        // the end of it

  bool ended_badly() const { return !end.was_ended && end.exit_code != 0; }
};

// None: the user wants no more of it. An error: it could not be run, or what it recorded cannot be written.
trace::Result<std::optional<ShortRun>> short_run(const ShortRunSettings& settings, const PreloadPath& preload,
                                                 const Simulation& simulation);

// The log of such runs, for one that failed; phrases of how it ended.
std::string last_lines(const std::string& written);
std::string ended_text(int exit_code);
std::string late_text(uint64_t steps, uint64_t wanted);
// Why what was recorded says nothing of the memory: a phrase; empty: it does.
std::string why_incomplete(const trace::SealSummary& sealed);

// "10m": an option's time. Throws CLI::ValidationError with one sentence.
std::chrono::nanoseconds read_limit(const std::string& text);
// "3": an option's steps, or all: 0. Throws likewise for fewer than `least`.
uint64_t read_steps(const std::string& text, uint64_t least);
// Of --keep: makes the folder. Or a temporary one.
trace::Result<std::string> folder_for_runs(const std::string& keep, std::optional<TemporaryFolder>& temporary);

}  // namespace tapelens::cli
