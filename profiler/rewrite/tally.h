// Counts of the rewrites in this process, applied and skipped with the reason. Always counted, and also written to the
// recording if one exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// The site at which a rewrite was applied or skipped.
struct RewriteSite {
  const torch::autograd::Node* node = nullptr;  // null: a rewrite of an operator, or of the optimizer
  std::string_view type{}, field{};             // type and field of the node; empty without a node
  uint32_t index = 0;
  std::string_view operator_name{};
  uint64_t where = 0;  // further distinguishes sites: a hash of the module and the line, if known
};

void applied(std::string_view rewrite, Level level, const RewriteSite& site, uint64_t bytes, uint64_t kept);
// `reason`: a few words for the user, from a small set of texts: "the gradients are accumulated".
void skipped(std::string_view rewrite, Level level, const RewriteSite& site, std::string_view reason, uint64_t bytes);

// Offloaded saves have so many bytes of the host's memory now.
void has_host_bytes(uint64_t bytes);

// Creates the file of this process's counts (policy/tally.h) in Settings::tally, if requested. Counting writes to it
// directly, so no work remains at the end of the process. Returns an error text for the user; empty on success.
std::string open_tally();
// After fork: the child shares the mapping, and must not count.
void abandon_tally_in_child();

}  // namespace tapelens::rewrite
