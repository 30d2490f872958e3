// Where the program keeps a tensor, read off its source: from the statement that made it, through the name that it is
// given there and the functions that return it, to the statement that keeps it.
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
    returned,   // to a caller that is none of the user's own files
  };
  Kind kind{};
  EditLine line;
  std::string name;  // "logits", "self.seen"; empty: the statement gives several
  // Of a variable: the one call that it is handed to, callback.on_end(loss). What that does with it is not looked at.
  EditLine passed{};

  // Where what outlives a step is kept: a variable would have the next one by then.
  EditLine kept_for_long() const { return kind == Kind::variable ? passed : line; }
};

// `made`: the operator that made the tensor, its module and stack. None: the source is not known, or the statement may
// give something else.
std::optional<Reference> reference_of(const Context& context, const Place& made);

}  // namespace tapelens::check
