// Which saves of a recording no wanted gradient needs, by the table of its PyTorch's minor.
#pragma once

#include <unordered_map>

#include "analyzer/check/check.h"
#include "plugins/unneeded-save/rule.h"

namespace tapelens::check {

using plugins::unneeded_save::Need;

class Unneeded {
 public:
  explicit Unneeded(const Context& context);

  // False: that minor was not measured, and of() answers nothing.
  bool is_measured() const { return !rows_.empty(); }
  // The row that says so; null: it may be needed.
  const Need* of(SaveId save);
  std::span<const Need> rows() const { return rows_; }

 private:
  const Context& context_;
  std::span<const Need> rows_;
  std::unordered_map<uint64_t, std::span<const Need>> by_field_;  // type and field of a save
};

}  // namespace tapelens::check
