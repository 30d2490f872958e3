// The decisions for the release of a version: on any view of the existing versions, as in chain.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "policy/recompute/chain.h"

namespace tapelens::recompute {

// The versions whose rematerialization reads a version: it must be available to them, or come back.
struct Dependents {
  uint32_t count = 0;
  uint64_t least = UINT64_MAX;  // bytes of the smallest of them so far
  uint32_t operators = 0;       // the most operators between this version and the end of a chain, so far

  void add(uint64_t bytes, uint32_t operators_from_here) {
    ++count;
    least = std::min(least, bytes);
    operators = std::max(operators, operators_from_here);
  }
};

// Operators from the start of a version's chain to the end of the longest chain through the version.
inline uint32_t operators_from(const Chain& chain, const Dependents& dependents) {
  return chain.operators + dependents.operators;
}

// The chain that rematerializes a version. Empty if no chain exists, if the size of the version exceeds the gain from
// its dependents, or if the chain of a dependent would exceed kMostOperators.
template <class View, class Version>
std::optional<Chain> chain_of(const View& view, const Version& version, const Dependents& dependents) {
  Chain chain{.bytes = view.bytes(version)};
  if (dependents.count > 0 && is_too_large(chain.bytes, dependents.least)) return std::nullopt;
  const bool is_possible = can_be_made(view, version, chain) && operators_from(chain, dependents) <= kMostOperators;
  return is_possible ? std::optional(chain) : std::nullopt;
}

// Each dependent rematerializes it again, unless it is kept once it is made.
constexpr uint64_t cost_of(const Chain& chain, const Dependents& dependents) {
  return chain.is_costly ? chain.cost : chain.cost * (1 + uint64_t{dependents.count});
}

// A source must have its values in backward. Either its memory is kept for that, or it is released and known to come
// back. Otherwise: if it lives on for another reason, it is pinned; if saved-tensor hooks hold it, the last hook pins
// it when it goes; in all other cases its own sources are pinned in turn. In addition to chain.h's functions a view
// has:
//   void depend(source, bytes, operators)   one more dependent
//   bool is_certain(source)         pinned, or released and known to come back
//   bool is_alive(source)           its storage has its values
//   bool is_held_by_program(source) and will have them: not by hooks alone
//   bool has_hooks(source)
//   bool pin(source)                false: its memory cannot be pinned
//   bool pin_sources(source, operators, copied)   pin_source() for all sources of the source, unless they are pinned
// `bytes`: size of the version that reads it. `operators`: operators_from() of the released version. `copied`: counts
// the bytes of copies. False: the source is neither available nor known to come back.
template <class View, class Source>
bool pin_source(const View& view, Source& source, uint64_t bytes, uint32_t operators, uint64_t& copied) {
  view.depend(source, bytes, operators);
  if (view.is_certain(source)) return true;
  const bool is_alive = view.is_alive(source);
  if (is_alive && view.is_held_by_program(source) && view.pin(source)) return true;
  if (is_alive && view.has_hooks(source)) return true;
  return view.pin_sources(source, operators, copied);
}

}  // namespace tapelens::recompute
