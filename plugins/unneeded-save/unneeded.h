// Finds saves of a recording that no wanted gradient needs, by the table of its minor version of PyTorch.
#pragma once

#include <unordered_map>

#include "analyzer/check/check.h"
#include "plugins/unneeded-save/rule.h"

namespace tapelens::check {

using plugins::unneeded_save::Need;

class Unneeded {
 public:
  explicit Unneeded(const Context& context);

  // False: that minor version was not measured, and of() returns null.
  bool is_measured() const { return !rows_.empty(); }
  // The row for the save; null: a gradient may need the save.
  const Need* of(SaveId save);
  std::span<const Need> rows() const { return rows_; }

 private:
  const Context& context_;
  std::span<const Need> rows_;
  std::unordered_map<uint64_t, std::span<const Need>> by_field_;  // type and field of a save
};

}  // namespace tapelens::check
