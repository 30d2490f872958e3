// Passes the settings of a recording to the probe.
#pragma once

#include <string>

#include "cli/child.h"

namespace tapelens::cli {

// As trace/variables.h describes them; empty or false means the default.
struct RecordingSettings {
  std::string spool{}, epoch_ns{}, steps{}, last{}, max_bytes{}, stacks{}, values{}, activation_budget{};
  bool marked = false;
  bool checksums = false;
  bool float64 = false;
  bool cupti = false;
  bool referrers = false;
  bool quiet = false;
};

// Each variable of trace/variables.h. A variable that is not set has no value here, which removes it from the child's
// environment.
Environment environment_of(const RecordingSettings& settings);

}  // namespace tapelens::cli
