// Finds saves for which one bit for each element, or a smaller integer, is enough.
#pragma once

#include <optional>
#include <unordered_map>

#include "analyzer/check/content.h"
#include "plugins/wide-save/rule.h"

namespace tapelens::check {

class Narrow {
 public:
  explicit Narrow(const Context& context);

  enum Kind : uint32_t { kMask = 0, kNoise = 1, kIndices = 2 };
  struct Form {
    Kind kind;
    Bytes bytes;    // sufficient bytes
    bool is_exact;  // restores the content exactly
  };
  // None: the save has none of these forms. In a prediction, only forms that the rewrite supports.
  std::optional<Form> of(SaveId save) const;

 private:
  plugins::wide_save::Kind kind_of(StringId type, StringId field) const;
  bool is_of_dropout(SaveId noise) const;
  uint64_t plane_of(SaveId indices, size_t dimensions) const;

  const Context& context_;
  NameSet made_in_place_, result_, self_, dropouts_, floats_, bools_, longs_;
  mutable std::unordered_map<uint64_t, plugins::wide_save::Kind> by_field_;  // by type and field of a save; used by one
                                                                             // thread
};

}  // namespace tapelens::check
