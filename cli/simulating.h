// A run on GPUs that are not there: the options that record and run share, and what the loader and the program are
// told.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/preload.h"
#include "cli/temporary_folder.h"
#include "simulated/settings/settings.h"
#include "trace/result.h"

namespace tapelens::cli {

// As typed.
struct SimulatingOptions {
  std::string gpu, world, workspace = "0";
};

// Declares --simulate-gpu, --simulate-world and --cudnn-workspace.
void add_simulating_options(CLI::App& sub, SimulatingOptions& options);

// The GPUs that are asked for, for options of these names. Throws CLI::ValidationError with one sentence.
simulated::Settings settings_of(const SimulatingOptions& options, const char* gpu_option, const char* world_option);

// The GPUs that are asked for; none without --simulate-gpu. Throws CLI::ValidationError with one sentence.
std::optional<simulated::Settings> read_simulating(const CLI::App& sub, const SimulatingOptions& options);

// The stand-ins for one run's CUDA libraries, in a temporary folder while it lives.
class Simulation {
 public:
  // Without a GPU that is asked for it is nothing: no reason, no libraries, no environment. What this process inherited
  // of one stays as it is, the libraries and what they are told: `tapelens run --simulate-gpu H100 -- tapelens record
  // ...`.
  Simulation(const std::optional<simulated::Settings>& gpu, const std::vector<std::string>& command);
  bool on() const { return on_; }
  // Why there can be no simulated GPU, for the user; empty if there can.
  const std::string& reason() const { return reason_; }
  // What is to be preloaded, separated by colons; empty if nothing is simulated.
  const std::string& preloads() const { return preloads_; }
  const Environment& environment() const { return environment_; }
  // The command on them, neither recorded nor rewritten.
  ChildEnd run(const std::vector<std::string>& command, const PreloadPath& preload) const;
  // Says of a program that failed after it read values that were not computed what its own message cannot know.
  void explain(const ChildEnd& end) const;

 private:
  trace::Status make(simulated::Settings gpu, const std::vector<std::string>& command);
  bool on_ = false;
  std::optional<TemporaryFolder> folder_;
  std::string reason_, preloads_, reads_;  // reads_: the folder of TAPELENS_SIMULATED_READS
  Environment environment_;
};

}  // namespace tapelens::cli
