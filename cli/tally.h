// Adds up the counts of rewrites from all processes of a run (profiler/rewrite/tally.h writes them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/explanation.h"

namespace tapelens::cli {

// The counts of one rewrite; for skipped sites, of one reason.
struct TallyRow {
  std::string rewrite, reason;
  int level = 0;
  uint64_t sites = 0, times = 0, bytes = 0, kept = 0;  // bytes and kept: summed over all times
};
struct TallySums {
  uint64_t processes = 0;  // that wrote a tally
  std::vector<TallyRow> applied, skipped;
  uint64_t host_bytes = 0;             // of offloaded saves at once, summed over the processes
  uint64_t left_out = 0;               // times that did not fit into the rows of a process
  std::optional<Explanation> why_not;  // set if a process could not be rewritten
};

// Adds up the sites of each rewrite over the processes; the most frequent reasons of skipped sites come first. Ignores
// invalid files.
TallySums read_tally(const std::string& folder);

// "rewrote 86 saves at 17 sites, 78.4 MiB kept as 4.1 MiB over the whole run, and 3 optimizer steps
// (optimizer-temporaries), 12.0 MiB offloaded, at most 6.0 MiB of host memory at once; skipped 3 sites: the gradients
// are accumulated (late-gradient, 2), ..."
std::string describe(const TallySums& tally);

}  // namespace tapelens::cli
