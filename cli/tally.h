// What the processes of a run counted of its rewrites (profiler/rewrite/tally.h writes it), brought together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/explanation.h"

namespace tapelens::cli {

// Of one rewrite; of those that were skipped, for one reason.
struct TallyRow {
  std::string rewrite, reason;
  int level = 0;
  uint64_t sites = 0, times = 0, bytes = 0, kept = 0;  // bytes and kept: summed over all times
};
struct Tally {
  uint64_t processes = 0;  // that told
  std::vector<TallyRow> applied, skipped;
  uint64_t left_out = 0;               // times for which a process had no row any more
  std::optional<Explanation> why_not;  // a process could not be rewritten
};

// Sites of one rewrite are added up over the processes; skipped ones that are most come first. What is no tally is left
// out.
Tally read_tally(const std::string& folder);

// "rewrote 86 saves at 17 sites, 78.4 MiB kept as 4.1 MiB over the whole run; skipped 3 sites: the gradients are
// accumulated (late-gradient, 2), ..."
std::string describe(const Tally& tally);

}  // namespace tapelens::cli
