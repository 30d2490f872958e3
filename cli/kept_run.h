// The recording and the log of one of the runs that `verify`, `fit` and `budget` make, which --keep keeps.
#pragma once

#include <string>
#include <vector>

#include "trace/output.h"
#include "trace/seal.h"

namespace tapelens::cli {

struct KeptRun {
  std::string recording, log;  // paths; no log: the run is shown
  bool is_forced = false;      // --force
  std::vector<std::string> inputs = {};

  // Whether both may be written, before the run.
  trace::Status check() const;
  // Of no spools nothing is made.
  trace::Result<trace::SealSummary> seal(const trace::SealOptions& options) const;
  // In the log, if the run left no recording: that it is one of ours.
  void note(const trace::SealSummary& sealed) const;
};

}  // namespace tapelens::cli
