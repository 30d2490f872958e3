// What a run is to have rewritten: by level, by name, and at the sites of a plan. The probe decides by it, and the
// forecast of `tapelens advise --apply` by the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewrites/catalog.h"

namespace tapelens::rewrites {

inline constexpr int kPlanVersion = 1;  // of the JSON that `tapelens advise` writes

// What is empty holds for all.
struct Site {
  std::string finding{};  // its id in the advice; the probe does not need it
  std::string rewrite{};
  std::string module{};  // a path in which `*` is any number: "Net.layer*.conv1"
  std::string op{}, node{}, field{};
  std::string file{};  // the last part of its path
  uint32_t line = 0;
  bool operator==(const Site&) const = default;
};
// Whether a module's path is one that a site names: "Net.layer*.conv1" is "Net.layer12.conv1" and not
// "Net.layer.conv1".
bool is_module(std::string_view path, std::string_view named);
// "unneeded-save ConvolutionBackward0.input of aten::conv2d in ResNet.layer*.conv1, train.py:27": what is known of it.
std::string describe(const Site& site);

struct Selection {
  std::string level;                        // the name of a group of the catalog; empty: only what is named
  std::vector<std::string> allowed;         // these, wherever they can
  std::vector<Site> sites;                  // and these there
  uint64_t min_bytes = uint64_t{64} << 10;  // storages of less are left alone
  double recompute_budget = 0.05;           // share of a step's cost

  // Wherever it can be.
  bool has(std::string_view rewrite, int level_of_it) const;
  // There, or at some site at least.
  bool may_have(std::string_view rewrite, int level_of_it) const;
};

}  // namespace tapelens::rewrites
