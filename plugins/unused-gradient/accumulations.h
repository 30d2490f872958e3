// Finds whether any operator read a gradient that a backward added to a parameter's gradient.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

class Accumulations {
 public:
  explicit Accumulations(const Context& context);

  // Whether an evaluation of a leaf (AccumulateGrad) was avoidable: no operator read the gradient before it was zeroed
  // or freed. False if unknown.
  bool is_unused(EvaluationId evaluation) const { return unused_[evaluation.value]; }
  // Whether any operator ever read a gradient in this allocation.
  bool is_ever_used(AllocationId gradient) const { return used_[gradient.value]; }
  bool any_unused() const { return any_; }

 private:
  bool is_read_after(const Context& context, AllocationId gradient, EvaluationId evaluation, Time made) const;

  std::vector<bool> unused_;  // by evaluation
  std::vector<bool> used_;    // by allocation
  // By StringId: names of operators that clear a gradient, that add to it, that do not read its values, and that read
  // its values only if they copy it.
  std::vector<uint8_t> zeroes_, adds_, looks_, moves_;
  Time last_step_;  // the end of the last optimizer step
  bool any_ = false;
};

}  // namespace tapelens::check
