// Causes of an idle allocation: the cache of autocast, a loaded checkpoint, an optimizer of frozen parameters.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/content.h"

namespace tapelens::check {

// Copies of weights in another dtype that autocast keeps until its outermost region ends (cache_enabled=True): whether
// an operator cast a parameter implicitly, and the copy outlives the operator without a save.
bool is_cached_cast(const Context& context, const std::vector<bool>& parameters, AllocationId allocation);

// The statement that begins the autocast region around a call; none: not known.
EditLine autocast_line(const Context& context, StackId stack);

// Checkpoints: tensors that a program loaded and copied into a model or an optimizer.
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

// Optimizer state that its optimizer no longer reads: the parameters were frozen, or get no gradients.
struct StaleState {
  AllocationId allocation;
  Time last;       // end of the last read
  uint64_t steps;  // later steps of its optimizer without a read
};

// State alive at the peak, in order of roles.
std::vector<StaleState> stale_states(const Context& context);

}  // namespace tapelens::check
