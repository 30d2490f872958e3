// What was rewritten in this process, what was not and why: counted always, and written to the recording if there is
// one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// Where a rewrite was done, or was not.
struct RewriteSite {
  const torch::autograd::Node* node = nullptr;  // null: of an operator, or of the optimizer
  std::string_view type{}, field{};             // of the node; empty without one
  uint32_t index = 0;
  std::string_view operator_name{};
  uint64_t where = 0;  // tells sites apart further: a hash of the module and the line, where they are known
};

void applied(std::string_view rewrite, Level level, const RewriteSite& site, uint64_t bytes, uint64_t kept);
// `reason`: a few words for the user: "the gradients are accumulated". One of a few texts.
void skipped(std::string_view rewrite, Level level, const RewriteSite& site, std::string_view reason, uint64_t bytes);

// Makes the file of this process's counts (rewrites/tally.h) in Settings::tally, if they were asked for. Counting
// is writing to it: nothing is left to do when the process ends. Says what went wrong, for the user; empty if nothing
// did.
std::string open_tally();
// After fork: the child shares the mapping, and counts nothing.
void abandon_tally_in_child();

}  // namespace tapelens::rewrite
