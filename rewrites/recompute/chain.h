// Whether a tensor can be recomputed, and what that takes: over any view of what there is, the tensors of a process or
// those of a recording.
#pragma once

#include <cstdint>
#include <string_view>

#include "rewrites/recompute/operators.h"

namespace tapelens::recompute {

// So many operators are run at most to make a version again: a block or two of a residual network.
inline constexpr uint32_t kMostOperators = 12;
// A version that equals another one takes no operator; a row of such copies is followed so far.
inline constexpr uint32_t kMostVersions = 24;
// What has to be made on the way may be so many times larger: a slice is not worth the whole.
inline constexpr uint64_t kMostLarger = 4;
// What is smaller than this, and than the least that is rewritten, is copied for a recipe.
inline constexpr uint64_t kSmall = uint64_t{64} << 10;

struct Chain {
  uint64_t bytes = 0;  // of what is made
  uint64_t cost = 0, key = 0;
  uint32_t operators = 0;
  uint32_t versions = 0;  // that were looked at
};

constexpr uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9fb21c651e98df25ULL; }
constexpr uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
  return hash;
}

// What the budget decides about together: what is recomputed by these operators for such a node.
inline uint64_t candidate_of(const Chain& chain, std::string_view operator_of_node) {
  return mixed(mixed(chain.key, hash_of(operator_of_node)), chain.bytes);
}

constexpr bool is_too_large(uint64_t bytes, uint64_t beside) { return bytes / kMostLarger > beside; }

// A view has, for what it calls a Version (a reference or a number):
//   uint64_t bytes(version)
//   bool is_encoded(version)       whether the version itself comes back from an encoding
//   bool has_recipe(version)
//   Cheap cheap(version)           of its recipe's operator; none: the one source as it is
//   bool all_sources(version, f)   f(source) for each source that is followed, until one is false
//   bool is_there(source)          and stays as long as it has to
template <class View, class Version>
bool can_be_made(const View& view, const Version& version, Chain& chain) {
  const uint64_t bytes = view.bytes(version);
  if (is_too_large(bytes, chain.bytes)) return false;
  if (view.is_encoded(version)) return true;
  if (!view.has_recipe(version)) return false;
  if (++chain.versions > kMostVersions) return false;
  const Cheap cheap = view.cheap(version);
  if (cheap && ++chain.operators > kMostOperators) return false;
  chain.cost += cheap.cost * bytes;
  chain.key = mixed(chain.key, cheap.number) + chain.operators;
  return view.all_sources(
      version, [&](const auto& source) { return view.is_there(source) || can_be_made(view, source, chain); });
}

}  // namespace tapelens::recompute
