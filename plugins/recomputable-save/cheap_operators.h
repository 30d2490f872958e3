// The operators of policy/recompute that may run again, by the names of a recording.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/model/text.h"
#include "policy/recompute/operators.h"

namespace tapelens::check {

// By StringId. `with_costly`: as the level `recompute`.
inline std::vector<recompute::Repeatable> repeatable_operators(const model::Text& text, bool with_costly) {
  std::vector<recompute::Repeatable> all(text.string_begin.size());
  for (uint32_t id = 1; id + 1 < text.string_begin.size(); ++id) {
    const std::string_view name = text.string(model::StringId{id});
    all[id] = with_costly ? recompute::repeatable(name) : recompute::cheap(name);
  }
  return all;
}

}  // namespace tapelens::check
