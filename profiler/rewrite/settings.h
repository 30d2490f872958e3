// What the user asked of the rewrites, as `tapelens record --apply`, `run` and `verify` hand it over in the environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// One line of the plan. What is empty holds for all; a `*` in a module's path is any number.
struct PlannedSite {
  std::string rewrite, module, operator_name, node, field, file;
  uint32_t line = 0;
};

struct Settings {
  bool on = false;         // TAPELENS_REWRITE
  bool poison = false;     // TAPELENS_POISON: NaN for everything that is never read
  int highest = -1;        // TAPELENS_APPLY: lossless 1, bitwise 2; -1: only what the plan and `allowed` name
  std::vector<std::string> allowed;  // TAPELENS_ALLOW: "expanded-save,trivial-concat"
  std::vector<PlannedSite> plan;     // TAPELENS_PLAN: a file, one site a line, tabs between the members above, then file:line
  uint64_t min_bytes = 64 * 1024;    // TAPELENS_REWRITE_MIN_BYTES: smaller storages are left alone
  double recompute_budget = 0.05;    // TAPELENS_RECOMPUTE_BUDGET: share of a step's time
  std::vector<std::string> plugins;  // TAPELENS_REWRITE_PLUGINS: shared libraries, separated by colons
  std::string tally;                 // TAPELENS_TALLY: the folder for the counts of each process
};

// Read from the environment once, by the probe's start.
const Settings& settings();
// Whether anything of this rewrite may be applied: by level, by name, or at some site of the plan.
bool wants(std::string_view rewrite, Level level);

}  // namespace tapelens::rewrite
