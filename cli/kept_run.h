// The recording and the log of one run of `verify`, `fit` or `budget`; --keep keeps them.
#pragma once

#include <string>
#include <vector>

#include "trace/output.h"
#include "trace/seal.h"

namespace tapelens::cli {

struct KeptRun {
  std::string recording, log;  // paths; no log: the output of the run is shown
  bool is_forced = false;      // --force
  std::vector<std::string> inputs = {};

  // Whether both files may be written; call before the run.
  trace::Status check() const;
  // Does nothing without spools.
  trace::Result<trace::SealSummary> seal(const trace::SealOptions& options) const;
  // If the run left no recording, marks the log as a file of Tapelens.
  void note(const trace::SealSummary& sealed) const;
};

}  // namespace tapelens::cli
