// How the command line passes the options of a recording to the processes of a run: in the environment, by the
// variables of variables.h. One writer and one reader. The preload library, which is C, looks only at which variables
// are set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/spool_writer.h"

namespace tapelens::trace {

// Training steps, which count from 0. `end`: the first step after them.
struct StepWindow {
  uint64_t first = 0, end = UINT64_MAX;
  bool operator==(const StepWindow&) const = default;
};

// Stacks to record.
struct StackKinds {
  bool python = true, cpp = true;
  bool operator==(const StackKinds&) const = default;
};

struct RecordingOptions {
  std::string spool{};                // the folder for the spools; empty: nothing is recorded
  uint64_t epoch_ns = 0;              // CLOCK_MONOTONIC when the recording of all processes began; 0: not given
  std::optional<StepWindow> steps{};  // steps to record in full; of others only memory is recorded
  bool marked = false;                // record only memory until the program calls tapelens_mark()
  uint64_t last = 0;                  // number of last steps to keep; 0: all
  uint64_t max_bytes = SpoolLimits().max_bytes;  // limit of a process's spool; not 0
  StackKinds stacks{};
  bool cupti = false;                         // record external memory, by CUPTI
  bool checksums = false;                     // of gradients and parameters, at each step
  std::string values{};                       // the folder for the gradients themselves; empty: not requested
  bool float64 = false;                       // with `values`: also with every operator on float64
  std::optional<double> activation_budget{};  // for torch.compile's partitioner: 0 to 1
  bool referrers = false;                     // record the variables that hold tensors
  bool quiet = false;                         // print no messages in the process

  bool operator==(const RecordingOptions&) const = default;
};

// "A:B", "A:" or ":B". None for a text without a colon, or with an invalid number.
std::optional<StepWindow> step_window_of(std::string_view text);
std::string text_of(const StepWindow& steps);

using Environment = std::vector<std::pair<std::string, std::string>>;
// Each variable of the contract. A variable without a value here must be removed from the child's environment.
Environment environment_of(const RecordingOptions& options);
// The options of this process, from the values of their variables: those of getenv(), or of `tapelens attach`. An empty
// or unreadable value counts as not set.
RecordingOptions recording_options_of(const char* (*setting)(const char* name));

}  // namespace tapelens::trace
