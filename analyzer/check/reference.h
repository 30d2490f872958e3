// Finds the place that keeps a tensor in the program's source: from the statement that made it, through its name there
// and the functions that return it, to the statement that keeps it.
#pragma once

#include <optional>
#include <string>

#include "analyzer/check/check.h"

namespace tapelens::check {

struct Reference {
  enum class Kind : uint8_t {
    variable,   // logits = model(x)
    collected,  // seen.append(hidden)
    attribute,  // self.hidden = hidden, cache[key] = hidden
    returned,   // to a caller outside the user's own files
  };
  Kind kind{};
  EditLine line;
  std::string name;  // "logits", "self.seen"; empty: the statement assigns several names
  // For a variable: the only call that gets it, callback.on_end(loss). The code of that call is not analyzed.
  EditLine passed{};

  // The place that keeps a tensor beyond a step. By then a variable would have the value of the next step.
  EditLine kept_for_long() const { return kind == Kind::variable ? passed : line; }
};

// `made`: the operator that made the tensor, its module and stack. None: the source is unknown, or the statement may
// yield another tensor.
std::optional<Reference> reference_of(const Context& context, const Place& made);

}  // namespace tapelens::check
