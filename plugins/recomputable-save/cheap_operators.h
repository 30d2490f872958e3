// The cheap operators of rewrites/recompute, by the names of a recording.
#pragma once

#include <vector>

#include "analyzer/model/text.h"
#include "rewrites/recompute/operators.h"

namespace tapelens::check {

// By StringId.
inline std::vector<recompute::Cheap> cheap_operators(const model::Text& text) {
  std::vector<recompute::Cheap> all(text.string_begin.size());
  for (uint32_t id = 1; id + 1 < text.string_begin.size(); ++id)
    all[id] = recompute::cheap(text.string(model::StringId{id}));
  return all;
}

}  // namespace tapelens::check
