// What `tapelens verify` finds out, from the runs to the verdict. verify.cpp declares the command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/peak/rewritten.h"
#include "cli/applying.h"
#include "trace/record.h"
#include "trace/result.h"

namespace tapelens::cli {

// On top of commands.h.
enum VerifyExitCode : int {
  kIdentical = 0,
  kDiffers = 1,
  kNothingRecorded = 3,  // no process was recorded; a file cannot be read or written
  kIncomplete = 4,       // data was lost: disk full, --max-size
  kNoVerdict = 5,        // two bare runs differ, or no gradient and no parameter could be compared
  kCommandFailed = 6,    // the bare command: its own exit code is told
};

struct Checksum {
  uint64_t step = 0;
  trace::ChecksumOf of{};
  std::string name;    // of the parameter; empty: a loss
  uint64_t value = 0;  // of a loss the bits of a double
};

// What one run of the command left.
struct VerifiedRun {
  int exit_code = 0;
  std::string not_started;  // why the command could not be run; empty: it was
  bool incomplete = false;  // data was lost
  std::string recording;    // its path
  std::string log;          // the path of what it wrote to standard error; empty: that went to the user
  bool was_recorded = false;
  bool is_cut = false;  // --steps
  struct Process {
    int32_t rank = -1;                                         // in the default process group, or RANK
    std::vector<Checksum> checksums;                           // in the order of time
    bool has_threads = false;                                  // they come from several
    uint64_t gradients_left_out = 0, parameters_left_out = 0;  // no ordinary tensors on the CPU
  };
  std::vector<Process> processes;  // those with checksums
  model::Bytes peak, saved_peak;   // of the process with the largest peak
  model::Bytes last_step_peak;     // of the last step with a backward: some rewrites have to see one first
  std::optional<int64_t> step_ns;  // median over the steps, the first left out if there are others; of that process
  std::vector<double> loss;        // of each step: of the last backward in it; NaN: none. Of the first process
  std::vector<uint64_t> gradient_checksum;  // of each step: of all gradients together. Of the first process
  peak::Rewritten rewritten;                // of the process with the largest peak
  std::vector<rewrites::Site> applied;      // the sites of all processes, as a plan names them
  uint64_t steps = 0;
};

struct Difference {
  int32_t rank = -1;
  uint64_t step = 0;
  std::string kind;                    // "loss", "gradient", "parameter", or "exit_code"
  std::string name;                    // of the parameter
  std::string bare, rewritten;         // the values as text; empty: there is none
  std::string rewrite;                 // that makes it, if it was found
  std::optional<rewrites::Site> site;  // of it
};

// How far a gradient is from another of the first step: the largest difference of two elements, divided by the largest
// element of the bare program's gradient in float64.
struct GradientError {
  std::string name;                // of the parameter
  double difference = 0;           // of the bare and the rewritten run
  double bare = 0, rewritten = 0;  // of each from float64
};
struct Rounding {
  std::string unknown;                   // why there are no figures; empty: there are
  std::vector<GradientError> gradients;  // the largest difference first
  uint64_t left_out = 0;                 // gradients that could not be followed in float64
};

struct Verdict {
  int exit_code = kIdentical;
  bool identical = false, deterministic = true;
  bool has_verdict = true;  // something was compared, and the program is deterministic
  std::string problem;      // of exit codes from 3 on, but 5: one sentence
  std::optional<Difference> difference;
  std::optional<Rounding> rounding;  // what differs comes from rewrites that add in another order alone
  uint64_t steps = 0, gradients = 0, parameters = 0, losses = 0;  // that were compared
  uint64_t gradients_left_out = 0, parameters_left_out = 0;       // that could not be
  VerifiedRun bare, rewritten;
};

// ---- verify_run.cpp

// Where the runs go and what they have in common.
struct VerifySetting {
  std::vector<std::string> command;
  std::string folder;             // recordings and logs
  std::optional<uint64_t> steps;  // that are recorded and compared; all if not given
  bool output_to_error = false;   // standard output of the first run: of the command itself
  std::string values;             // a folder, for the gradients of the first step; empty: not wanted
  bool float64 = false;           // and for what they are without rounding errors
};

// Runs the command and reads what it left. `name`: of the recording. `is_first`: what it writes goes to the user.
trace::Result<VerifiedRun> run_recorded(const VerifySetting& setting, const rewrites::Settings& applying,
                                        const std::string& name, bool is_first);

// ---- verify_compare.cpp

// The first that differs, in the order of the steps; counts in `verdict` what was compared.
std::optional<Difference> compare(const VerifiedRun& bare, const VerifiedRun& other, Verdict& verdict);

// ---- verify_rounding.cpp

// Runs the command twice more: bare, followed in float64, and rewritten.
Rounding measure_rounding(VerifySetting setting, const rewrites::Settings& applying, const VerifiedRun& bare);

// ---- verify_bisect.cpp

// All of it: the runs, the comparison and, where they differ, the search for the site that makes the difference.
Verdict verify(const VerifySetting& setting, const rewrites::Settings& applying);

// ---- verify_shown.cpp

std::string verdict_text(const Verdict& verdict);
std::string verdict_json(const Verdict& verdict);

}  // namespace tapelens::cli
