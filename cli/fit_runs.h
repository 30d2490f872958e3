// The runs of `tapelens fit`: the user's command with a size in it, on a simulated GPU, recorded until it has made some
// steps.
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
  // What all runs have in common.
  struct Common {
    std::vector<std::string> command;
    std::string placeholder;               // in the command, where the size goes
    std::string folder;                    // for recordings and logs
    uint64_t steps = 0;                    // of each run; 0: to the end
    std::chrono::nanoseconds limit;        // for each run
    bool is_kept = false;                  // recordings and logs stay
    bool is_forced = false;                // and replace any file
    std::vector<std::string> inputs = {};  // which none of them replaces
    bool is_shown = false;                 // what the command writes
    rewrites::Settings rewrites;           // of runs whose setting says that they are rewritten
  };
  explicit SimulatedRuns(Common common) : common_(std::move(common)) {}

  // Before the search. Why there can be no such GPU, for the user; empty: there can.
  std::string add_gpu(const std::string& gpu, const simulated::Settings& settings);
  // Why nothing can be recorded; empty: it can.
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
