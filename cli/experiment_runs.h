// The runs of `tapelens fit` and `tapelens budget`: the user's command with one change, recorded for some steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/experiment/runs.h"
#include "cli/preload.h"
#include "cli/scoped_files.h"
#include "cli/simulating.h"

namespace tapelens::cli {

class ExperimentRuns final : public experiment::Runs {
 public:
  // Settings of all runs.
  struct Common {
    std::vector<std::string> command;
    std::string placeholder = {};          // the text in the command that a size replaces
    std::string folder = {};               // for recordings and logs
    uint64_t steps = 0;                    // steps of each run; 0: all
    std::chrono::nanoseconds limit{};      // time limit of each run
    bool is_kept = false;                  // keep recordings and logs
    bool is_forced = false;                // recordings and logs may replace any file
    std::vector<std::string> inputs = {};  // files that recordings and logs never replace
    bool is_shown = false;                 // show the output of the command
    bool needs_gpu = false;                // a run without memory on a GPU failed
  };
  explicit ExperimentRuns(Common common) : common_(std::move(common)) {}

  // Declares a GPU of Variation::gpu before the first run; no settings: the machine's own devices. Returns why such a
  // GPU cannot be simulated, for the user; empty if it can.
  std::string add_gpu(const std::string& gpu, const std::optional<simulated::GpuSettings>& settings);
  // Why recording is impossible, for the user; empty if it is possible.
  const std::string& reason() const { return preload_.reason(); }

  trace::Result<std::optional<experiment::Attempt>> run(const experiment::Variation& variation,
                                                        const std::string& progress) override;
  void tell(const std::string& result) override;

 private:
  std::vector<std::string> command_with(uint64_t size) const;
  // The caches of compiled code, for a run with its own activation memory budget.
  trace::Result<Environment> caches();

  const Common common_;
  const PreloadPath preload_;
  std::map<std::string, std::unique_ptr<Simulation>> simulations_;  // by Variation::gpu
  std::optional<TemporaryFolder> caches_;
};

}  // namespace tapelens::cli
