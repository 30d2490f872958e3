// The runs of `tapelens budget`: the user's command, recorded until it has made some steps, each time with another
// activation memory budget for torch.compile and with caches that are nobody else's.
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
    uint64_t steps = 0;                    // of each run; 0: to the end
    std::chrono::nanoseconds limit;        // for each run
    bool is_kept = false;                  // recordings and logs stay
    bool is_forced = false;                // and replace any file
    std::vector<std::string> inputs = {};  // which none of them replaces
    bool is_shown = false;                 // what the command writes
    size_t runs = 0;                       // in all
  };
  BudgetRuns(Common common, const std::optional<simulated::Settings>& gpu);

  // Why no run can be made, for the user; empty: it can.
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
