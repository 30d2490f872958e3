// Training iterations, and what the program was doing at a moment of one.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::model {

struct Step {
  uint32_t index = 0;  // from 0
  Interval when;
};

// A border is the end of a step of the optimizer that was stepped first (a GAN's second one makes no borders); where
// the program itself says that a step ends (tapelens.step()), what it says. Step 0
// begins with the recording, and where steps were left out, the one behind them with their end; what follows the last
// border is a last step if anything was allocated in it. Where no optimizer steps, a border is the begin of the forward
// after a backward that lets its graph go (after each backward, if fewer than two release it), and a program with one
// backward is one step. Never empty.
std::vector<Step> find_steps(const Process& process);

// The step that a moment belongs to; moments after the last border without a step of their own belong to the last.
const Step& step_at(const std::vector<Step>& steps, Time time);
// The number of that step; of a moment in steps that were left out that of the last of them.
uint32_t step_index_at(const std::vector<Step>& steps, Time time);

enum class Phase : uint8_t { other, forward, backward, optimizer, evaluation };
const char* phase_name(Phase phase);
Phase phase_of(ImportedPhase phase);

// Intervals that do not overlap, in the order of time: the union of those given.
std::vector<Interval> merged(std::vector<Interval> intervals);
std::vector<Interval> merged(const std::vector<Backward>& backwards);

// The moments at which a backward begins: what the forward has kept for it is there, and nothing has been released.
class BackwardBegins {
 public:
  explicit BackwardBegins(const Process& process);
  // Cut to the time from the first of these moments in it to just behind the last; empty if there is none. Of a process
  // without a backward every moment is one.
  Interval within(Interval when) const;

 private:
  std::vector<Time> begins_;
};

// Backward: inside of a backward. Optimizer: inside of an optimizer's step, but for the forward and backward of a
// closure that it calls. Forward: from the first module call or the first operator that makes a node, after the last
// backward or optimizer step of the step, to the next one; but for the evaluation. That is the outermost calls of
// modules in which gradients were disabled and no node was made, with what comes before the forward goes on.
class Phases {
 public:
  Phases(const Process& process, const std::vector<Step>& steps);
  Phase at(Time time) const;
  // Neither overlap; both in the order of time.
  const std::vector<Interval>& backwards() const { return backwards_; }
  const std::vector<Interval>& optimizers() const { return optimizers_; }
  // Forward and evaluation of an interval with no backward and no optimizer's step in it, that begins with the step or
  // behind one of those: in the order of time, none of them empty, without what is neither.
  struct Part {
    Interval when;
    Phase phase{};
  };
  std::vector<Part> parts_of(Interval interval) const;

 private:
  Time forward_from(Time since) const;

  const Process& process_;
  const std::vector<Step>& steps_;
  std::vector<Interval> backwards_, optimizers_;
  std::vector<Interval> evaluations_;  // calls of modules
  std::vector<Time> forward_calls_;    // begins of all other outermost calls
};

}  // namespace tapelens::model
