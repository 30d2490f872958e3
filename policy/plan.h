// The rewrites that a run applies: by level, by name, and at the sites of a plan. Both the probe and the forecast of
// `tapelens advise --apply` decide by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/catalog.h"

namespace tapelens::policy {

// Version of the JSON that `tapelens advise` and `tapelens run --fit` write. 2: with a level and a recompute budget.
inline constexpr int kPlanVersion = 2;

// The default shares of a step's estimated cost: up to level bitwise, and for recompute, whose share is a whole
// forward.
inline constexpr double kCheapBudget = 0.05, kCostlyBudget = 0.34;

// The default size of the smallest rewritten storage, and of the smallest that is offloaded: a copy to the host and
// back costs some launches each.
inline constexpr uint64_t kMinBytes = uint64_t{64} << 10, kOffloadMinBytes = uint64_t{1} << 20;

// An empty member matches everything.
struct Site {
  std::string finding{};  // its id in the advice; the probe does not need it
  std::string rewrite{};
  std::string module{};  // a path in which `*` stands for any number: "Net.layer*.conv1"
  std::string op{}, node{}, field{};
  std::string file{};  // the last component of its path
  uint32_t line = 0;
  bool operator==(const Site&) const = default;
};
// Whether a site's pattern matches a module's path: "Net.layer*.conv1" matches "Net.layer12.conv1" and not
// "Net.layer.conv1".
bool is_module(std::string_view path, std::string_view named);
// The set members as text: "unneeded-save ConvolutionBackward0.input of aten::conv2d in ResNet.layer*.conv1,
// train.py:27".
std::string describe(const Site& site);

struct RewriteSelection {
  std::string level;                 // the name of a group of the catalog; empty: only named rewrites
  std::vector<std::string> allowed;  // apply these wherever possible
  std::vector<Site> sites;           // and these at their sites
  uint64_t min_bytes = kMinBytes;    // smaller storages are ignored
  // Share of a step's estimated cost (recompute/budget.h). None: the level's.
  std::optional<double> budget;
  // The most bytes of pinned memory for offloaded saves. None: half of the memory that the machine has free.
  std::optional<uint64_t> host_memory;

  // Whether recomputation may run costly operators (recompute/operators.h).
  bool repeats_costly() const { return level == kRecompute; }
  // Smaller storages are not offloaded, unless the user gave a size.
  uint64_t offload_min_bytes() const { return min_bytes == kMinBytes ? kOffloadMinBytes : min_bytes; }
  double recompute_budget() const { return budget.value_or(repeats_costly() ? kCostlyBudget : kCheapBudget); }
  // Whether the rewrite is enabled everywhere.
  bool has(std::string_view rewrite, int level_of_it) const;
  // Whether the rewrite is enabled everywhere or at some site.
  bool may_have(std::string_view rewrite, int level_of_it) const;
};

}  // namespace tapelens::policy
