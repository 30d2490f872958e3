// What a recording says of its rewrites: which were applied, where, for how many bytes; which were not and why. In a
// report, and what `tapelens verify` compares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::report {

using model::Bytes;

// One place: a field of a node type (or an operator) in one module, at one line.
struct RewrittenSite {
  std::string rewrite, reason;  // reason: why it was skipped; empty: it was applied
  int level = 0;                // rewrites::Level
  std::string module, op, node, field, file, function;
  uint32_t line = 0;
  uint64_t times = 0;
};

// All sites of one rewrite; of those that were skipped, for one reason.
struct RewrittenTotal {
  std::string rewrite, reason;
  int level = 0;
  uint64_t sites = 0, times = 0;
  // The most at one moment, each storage counted once: that need not be held; that were held in their stead.
  Bytes bytes, kept;
};

struct Rewritten {
  std::vector<RewrittenTotal> applied, skipped;  // what is most first
  std::vector<RewrittenSite> sites;              // applied ones first, in the order in which they came
  RewrittenTotal all;                            // that were applied
  Bytes saved_peak;                              // see saved_peak()

  bool any() const { return !sites.empty(); }
};

Rewritten describe_rewrites(const model::Process& process, const model::Text& text);

// The most that is kept for the backward alone when one begins (of a run without one: at any moment): allocations that
// some save holds and the program has released, each counted once, and what rewrites keep instead of others.
// Parameters, buffers, gradients and optimizer state are not among them: they stay without the save.
Bytes saved_peak(const model::Process& process, const model::Text& text);

}  // namespace tapelens::report
