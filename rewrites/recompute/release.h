// What is decided when a version may be released: over any view of what there is, as in chain.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rewrites/recompute/chain.h"

namespace tapelens::recompute {

// The versions whose rematerialization reads a version: it has to be there for them, or to come back.
struct Dependents {
  uint32_t count = 0;
  uint64_t least = UINT64_MAX;  // bytes of the smallest of them so far

  void add(uint64_t bytes) {
    ++count;
    least = std::min(least, bytes);
  }
};

// How a version would be rematerialized; nothing if it cannot be, or is so large that its dependents are not worth it.
template <class View, class Version>
std::optional<Chain> chain_of(const View& view, const Version& version, const Dependents& dependents) {
  Chain chain{.bytes = view.bytes(version)};
  if (dependents.count > 0 && is_too_large(chain.bytes, dependents.least)) return std::nullopt;
  return can_be_made(view, version, chain) ? std::optional(chain) : std::nullopt;
}

// Each dependent rematerializes it again.
constexpr uint64_t cost_of(const Chain& chain, const Dependents& dependents) {
  return chain.cost * (1 + uint64_t{dependents.count});
}

// A source is to have its values in the backward: from memory that is there for that, or because it is released and is
// known to come back; what lives on for another reason is pinned; what saved-tensor hooks hold, they pin when the last
// of them goes. Of all others the sources are pinned in turn. A view has, besides what chain.h asks for:
//   void depend(source, bytes)      one more dependent of so many bytes
//   bool is_certain(source)         pinned, or released and known to come back
//   bool is_alive(source)           its storage has its values
//   bool is_held_by_program(source) and will have them: not by hooks alone
//   bool has_hooks(source)
//   bool pin(source)                false: its memory cannot be pinned
//   bool pin_sources(source, copied) pin_source() of all that the source reads, unless they are pinned
// `bytes`: of the version that reads it. `copied`: counts the bytes of copies that are made. False: the source is
// neither there nor known to come back.
template <class View, class Source>
bool pin_source(const View& view, Source& source, uint64_t bytes, uint64_t& copied) {
  view.depend(source, bytes);
  if (view.is_certain(source)) return true;
  const bool is_alive = view.is_alive(source);
  if (is_alive && view.is_held_by_program(source) && view.pin(source)) return true;
  if (is_alive && view.has_hooks(source)) return true;
  return view.pin_sources(source, copied);
}

}  // namespace tapelens::recompute
