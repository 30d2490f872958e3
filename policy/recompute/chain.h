// Whether a tensor can be recomputed, and at what cost. Works on any view of the existing versions: the tensors of a
// process or those of a recording.
#pragma once

#include <cstdint>
#include <string_view>

#include "policy/recompute/operators.h"

namespace tapelens::recompute {

// The most operators to run for one version: a block or two of a residual network.
inline constexpr uint32_t kMostOperators = 12;
// A version that equals another one needs no operator; chains of such copies are followed up to this length.
inline constexpr uint32_t kMostVersions = 24;
// The largest ratio of intermediate results to the version: a slice is not worth its whole tensor.
inline constexpr uint64_t kMostLarger = 4;
// Tensors smaller than this, and smaller than the rewrites' minimum size, are copied for a recipe.
inline constexpr uint64_t kSmall = uint64_t{64} << 10;

struct Chain {
  uint64_t bytes = 0;  // size of the recomputed results
  uint64_t cost = 0, key = 0;
  uint32_t operators = 0;
  uint32_t versions = 0;   // that were visited
  bool is_costly = false;  // has a costly operator
};

constexpr uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9fb21c651e98df25ULL; }
constexpr uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
  return hash;
}

// The unit of the budget's decisions: the recomputations by these operators for such a node.
inline uint64_t candidate_of(const Chain& chain, std::string_view operator_of_node) {
  return mixed(mixed(chain.key, hash_of(operator_of_node)), chain.bytes);
}

constexpr bool is_too_large(uint64_t bytes, uint64_t beside) { return bytes / kMostLarger > beside; }

// A view has, for its Version type (a reference or a number):
//   uint64_t bytes(version)
//   bool is_encoded(version)       whether the version itself comes back from an encoding
//   bool has_recipe(version)
//   Repeatable maker(version)      its recipe's operator; none: equal to its only source
//   uint64_t cost(version)         of its recipe's operator
//   bool is_kept_once_made(version)  its own hooks need it in the same backward, and it is costly: it is made once
//   bool all_sources(version, f)   f(source) for each followed source, until one is false
//   bool is_there(source)          and stays as long as needed
template <class View, class Version>
bool can_be_made(const View& view, const Version& version, Chain& chain) {
  const uint64_t bytes = view.bytes(version);
  if (is_too_large(bytes, chain.bytes)) return false;
  if (view.is_encoded(version)) return true;
  if (!view.has_recipe(version)) return false;
  if (++chain.versions > kMostVersions) return false;
  const Repeatable maker = view.maker(version);
  if (maker && ++chain.operators > kMostOperators) return false;
  chain.cost += view.cost(version);
  chain.key = mixed(chain.key, maker.number) + chain.operators;
  chain.is_costly = chain.is_costly || maker.is_costly;
  return view.all_sources(version, [&](const auto& source) {
    if (view.is_there(source)) return true;
    const uint64_t cost = chain.cost;
    if (!can_be_made(view, source, chain)) return false;
    if (view.is_kept_once_made(source)) chain.cost = cost;
    return true;
  });
}

}  // namespace tapelens::recompute
