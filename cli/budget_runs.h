// The runs of `tapelens budget`: records the user's command for some steps, each time with another activation memory
// budget for torch.compile and with separate caches.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/budget/budget.h"
#include "cli/preload.h"
#include "cli/simulating.h"
#include "cli/temporary_folder.h"

namespace tapelens::cli {

class BudgetRuns final : public budget::Runs {
 public:
  struct Common {
    std::vector<std::string> command;
    std::string folder;                    // for recordings and logs
    uint64_t steps = 0;                    // steps of each run; 0: all
    std::chrono::nanoseconds limit;        // time limit of each run
    bool is_kept = false;                  // keep recordings and logs
    bool is_forced = false;                // recordings and logs may replace any file
    std::vector<std::string> inputs = {};  // files that recordings and logs never replace
    bool is_shown = false;                 // show the output of the command
    size_t runs = 0;                       // number of runs
  };
  BudgetRuns(Common common, const std::optional<simulated::Settings>& gpu);

  // Why no run is possible, for the user; empty if one is.
  const std::string& reason() const;

  trace::Result<std::optional<budget::Point>> run(double budget) override;

 private:
  const Common common_;
  const PreloadPath preload_;
  const Simulation simulation_;
  const TemporaryFolder caches_;
  size_t begun_ = 0;
};

}  // namespace tapelens::cli
