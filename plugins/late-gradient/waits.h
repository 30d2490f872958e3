// Measures how long each gradient waits for its optimizer step, and the other memory that the step needs.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// A gradient from its last accumulation to the step that is its only reader.
struct Wait {
  AllocationId gradient, parameter;
  EvaluationId evaluation;  // the evaluation that accumulated it last
  Time there;               // end of that evaluation
  size_t step = 0;          // index into Process::optimizer_steps
};

// The allocations of a step: temporaries, and the state that the first step of a parameter makes.
struct StepTemporaries {
  std::vector<AllocationId> temporaries;
  Bytes most;  // peak of the temporaries
};

class Waits {
 public:
  explicit Waits(const Context& context);

  const std::vector<Wait>& all() const { return waits_; }  // in the order of accumulation
  const StepTemporaries& memory(size_t step) const { return memory_[step]; }

 private:
  void find(const Context& context);
  void measure(const Context& context);
  // The step that read it; none if anything else or several steps read it.
  const OptimizerStep* reader(const Context& context, AllocationId gradient, Time there) const;

  std::vector<uint8_t> clears_;  // by StringId: names of operators that zero a gradient or read no values
  std::vector<Wait> waits_;
  std::vector<StepTemporaries> memory_;  // by step
};

}  // namespace tapelens::check
