// Plans of `run --fit`, kept for later runs of the same command: files in the user's cache folder. A cache that cannot
// be read or written changes nothing but the time: the plan is made again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/plan/plan.h"
#include "cli/planning.h"
#include "policy/wire.h"

namespace tapelens::cli {

struct KeptPlan {
  policy::RewriteSettings rewrites;  // off: the program fits without them
  std::string made;                  // "2026-11-27 14:38"
  std::string options;               // "--apply bitwise"; empty: no rewrites
  plan::Bytes bytes{};               // the need of the program with them
};

// The place of one plan, for a command, its environment, the devices, the wanted memory, and this Tapelens.
class PlanCache {
 public:
  // Does nothing for a program that is not Python, because its libraries are not known before a run.
  explicit PlanCache(const ToFit& wanted);

  // None: no plan is kept, or the program has changed since.
  std::optional<KeptPlan> read() const;
  // Requires a choice. Removes the oldest plans if there are too many.
  void write(const plan::Plan& plan) const;

 private:
  std::string key_;  // JSON; empty: no plan can be kept
  std::string folder_, path_, gpu_;
  std::vector<std::string> command_;
  std::vector<std::string> folders_;  // with the scripts of the command
  std::optional<uint64_t> sources_;   // checksum before the first run
};

}  // namespace tapelens::cli
