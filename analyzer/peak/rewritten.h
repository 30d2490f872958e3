// The rewrites of a recording: the applied ones with their sites and bytes, and the skipped ones with reasons. Used by
// a report, and by the verdict of `tapelens verify`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/peak/analysis.h"

namespace tapelens::peak {

// One place: a field of a node type (or an operator) in one module, at one line.
struct RewrittenSite {
  std::string rewrite, reason;  // reason: why it was skipped; empty: it was applied
  int level = 0;                // policy::Level
  std::string module, op, node, field, file, function;
  uint32_t line = 0;
  uint64_t times = 0;
};

// All sites of one rewrite; for skipped sites, all with one reason.
struct RewrittenTotal {
  std::string rewrite, reason;
  int level = 0;
  uint64_t sites = 0, times = 0;
  // The maximum at one moment, each storage counted once. `bytes`: no longer held; `kept`: held instead.
  Bytes bytes, kept;
};

struct Rewritten {
  std::vector<RewrittenTotal> applied, skipped;  // the largest first
  std::vector<RewrittenSite> sites;              // applied ones first, in recorded order
  RewrittenTotal all;                            // sum of the applied ones

  bool any() const { return !sites.empty(); }
};

// Covers all devices of the process.
Rewritten rewritten(const Analysis& analysis);

}  // namespace tapelens::peak
