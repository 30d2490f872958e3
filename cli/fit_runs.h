// The runs of `tapelens fit`: the user's command with a size inserted, on a simulated GPU, recorded for some steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/fit/fit.h"
#include "cli/preload.h"
#include "cli/simulating.h"
#include "rewrites/wire.h"

namespace tapelens::cli {

class SimulatedRuns final : public fit::Runs {
 public:
  // Settings of all runs.
  struct Common {
    std::vector<std::string> command;
    std::string placeholder;               // the text in the command that the size replaces
    std::string folder;                    // for recordings and logs
    uint64_t steps = 0;                    // steps of each run; 0: all
    std::chrono::nanoseconds limit;        // time limit of each run
    bool is_kept = false;                  // keep recordings and logs
    bool is_forced = false;                // recordings and logs may replace any file
    std::vector<std::string> inputs = {};  // files that recordings and logs never replace
    bool is_shown = false;                 // show the output of the command
    rewrites::Settings rewrites;           // for runs whose setting includes rewrites
  };
  explicit SimulatedRuns(Common common) : common_(std::move(common)) {}

  // Call before the search. Returns why such a GPU cannot be simulated, for the user; empty if it can.
  std::string add_gpu(const std::string& gpu, const simulated::Settings& settings);
  // Why recording is impossible, for the user; empty if it is possible.
  const std::string& reason() const { return preload_.reason(); }

  trace::Result<std::optional<fit::Point>> run(const fit::Setting& setting, uint64_t size) override;
  void tell(const fit::Series& series, uint64_t next) override;

 private:
  struct Files {
    std::string recording, log;
  };
  Files files_of(const fit::Setting& setting, uint64_t size) const;
  std::vector<std::string> command_with(uint64_t size) const;

  const Common common_;
  const PreloadPath preload_;
  std::map<std::string, std::unique_ptr<Simulation>> simulations_;  // by fit::Setting::gpu
  std::string progress_;
};

}  // namespace tapelens::cli
