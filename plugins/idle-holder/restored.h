// Checkpoints: tensors that a program loaded and copied into a model or an optimizer.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/content.h"

namespace tapelens::check {

class Restored {
 public:
  explicit Restored(const Context& context);

  // Whether every read of an allocation copied it into a parameter, a buffer or optimizer state; or nothing read it,
  // and the line that made it made such a one.
  bool has(AllocationId allocation) const;

 private:
  enum class Reads : uint8_t { none, copies, other };
  Reads reads_of(AllocationId allocation) const;
  bool writes_state(OperatorId op, AllocationId source) const;

  const Context& context_;
  Contents contents_;
  NameSet views_;
  std::vector<bool> is_of_restored_;  // by frame: a line that made one
};

}  // namespace tapelens::check
