// Runs on simulated GPUs: the options of record and run, and the environment for the loader and the program.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/preload.h"
#include "cli/scoped_files.h"
#include "simulated/settings/settings.h"
#include "trace/result.h"

namespace tapelens::simulated {
struct Card;
}

namespace tapelens::cli {

// The options as typed.
struct SimulatingOptions {
  std::string gpu, world, workspace;
};

// Declares --gpu, --world and --cudnn-workspace.
void add_simulating_options(CLI::App& sub, SimulatingOptions& options);
// Declares --world and --cudnn-workspace. The command declares its own --gpu.
void add_simulation_details(CLI::App& sub, SimulatingOptions& options);

// GPUs of one card with so much memory each, and estimates of cuDNN's workspaces.
simulated::GpuSettings settings_of(const simulated::Card& card, uint64_t bytes, uint32_t count);
// The requested GPUs. Throws CLI::ValidationError with one sentence.
simulated::GpuSettings settings_of(const SimulatingOptions& options);

// The requested GPUs; none without --gpu. Throws CLI::ValidationError with one sentence.
std::optional<simulated::GpuSettings> read_simulating(const CLI::App& sub, const SimulatingOptions& options);

// The stand-ins for the CUDA libraries of one run, in a temporary folder that this object owns.
class Simulation {
 public:
  // Without a GPU, the object has no reason, libraries or environment. A simulation that this process inherited stays
  // active: `tapelens run --gpu H100 -- tapelens record ...`.
  Simulation(const std::optional<simulated::GpuSettings>& gpu, const std::vector<std::string>& command);
  bool on() const { return on_; }
  // Why the GPU cannot be simulated, for the user; empty if it can.
  const std::string& reason() const { return reason_; }
  // The libraries to preload, separated by colons; empty without a simulation.
  const std::string& preloads() const { return preloads_; }
  const Environment& environment() const { return environment_; }
  // Runs the command on the GPUs, neither recorded nor rewritten.
  ChildEnd run(const std::vector<std::string>& command, const PreloadPath& preload) const;
  // If a program failed after it read values that were not computed, says so: its own message cannot.
  void explain(const ChildEnd& end) const;

 private:
  trace::Status make(simulated::GpuSettings gpu, const std::vector<std::string>& command);
  bool on_ = false;
  std::optional<TemporaryFolder> folder_;
  std::string reason_, preloads_, reads_;  // reads_: the folder in TAPELENS_SIMULATED_READS
  Environment environment_;
};

// tapelens fit --list-gpus: the GPUs that can be simulated.
int list_gpus();  // returns an exit code

}  // namespace tapelens::cli
