// The interface that makes the runs of an experiment. The command line runs a command; tests return synthetic runs.
// Each search (fit, budget) decides which runs it needs, and judges their attempts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/experiment/attempt.h"
#include "policy/wire.h"
#include "trace/result.h"

namespace tapelens::experiment {

// The changes of one run to the program and its environment.
struct Variation {
  std::string name;   // unique for each run, and part of the names of its files: "H100-8", "budget-0.4"
  std::string gpu;    // the GPU of the experiment to run on; empty: the one for all runs
  uint64_t size = 0;  // in place of the command's placeholder; 0: the command is unchanged
  std::optional<double> activation_budget{};  // of torch.compile: 0 to 1; none: the program's own
  policy::RewriteSettings rewrites;           // off: none
};

class Runs {
 public:
  // `progress`: one line about the run, while it lasts.
  // None: the user interrupted the search. An error ends the search: no run is possible.
  virtual trace::Result<std::optional<Attempt>> run(const Variation& variation, const std::string& progress) = 0;
  // Reports the result of a run, one line.
  virtual void tell(const std::string& result) = 0;

 protected:
  ~Runs() = default;
};

}  // namespace tapelens::experiment
