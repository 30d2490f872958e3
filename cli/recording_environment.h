// How the command line tells the probe of a run what to record.
#pragma once

#include <string>

#include "cli/child.h"

namespace tapelens::cli {

// As trace/variables.h describes them; empty or false: the default.
struct RecordingSettings {
  std::string spool{}, epoch_ns{}, steps{}, last{}, max_bytes{}, stacks{}, values{}, activation_budget{};
  bool marked = false;
  bool checksums = false;
  bool float64 = false;
  bool cupti = false;
  bool referrers = false;
  bool quiet = false;
};

// Each variable of trace/variables.h: what is not set is to be taken out of the child's environment, and has no value
// here.
Environment environment_of(const RecordingSettings& settings);

}  // namespace tapelens::cli
