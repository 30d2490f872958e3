// Of which saves a bit an element, or a smaller integer, would do.
#pragma once

#include <optional>

#include "analyzer/check/content.h"

namespace tapelens::check {

class Narrow {
 public:
  explicit Narrow(const Context& context);

  enum Kind : uint32_t { kMask = 0, kNoise = 1, kIndices = 2 };
  struct Form {
    Kind kind;
    Bytes bytes;    // that would do
    bool is_exact;  // the content itself comes back from it
  };
  // None: it is not one of these. Where rewrites are predicted, only what the rewrite takes.
  std::optional<Form> of(SaveId save) const;

 private:
  bool is_indices(SaveId save) const;
  bool is_noise(SaveId save) const;
  uint64_t plane_of(SaveId indices, size_t dimensions) const;

  const Context& context_;
  NameSet bits_, made_in_place_, values_, pools_, solid_pools_, indices_, self_, dropout_noise_, noise_, dropouts_,
      masks_, floats_, bools_, longs_, indices_of_values_;
};

}  // namespace tapelens::check
