// Training iterations, and the phase of the program at a given time.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::model {

struct Step {
  uint32_t index = 0;  // from 0
  Interval when;
};

// A step ends when the optimizer that stepped first ends its step (the second optimizer of a GAN ends none), or where
// the program marks an end itself (tapelens.step()). Step 0 begins with the recording. If earlier steps were left out,
// the first step begins at their end. The time after the last end is one more step if anything was allocated in it.
// Without an optimizer, a step ends where the next forward begins after a backward that releases its graph. If fewer
// than two backwards release their graph, this holds for each backward. A program with one backward is one step.
// Never empty.
std::vector<Step> find_steps(const Process& process);

// The step at a time. Times after the end of all steps belong to the last step.
const Step& step_at(const std::vector<Step>& steps, Time time);
// The number of that step. For a time within steps that were left out: the number of the last of them.
uint32_t step_index_at(const std::vector<Step>& steps, Time time);

enum class Phase : uint8_t { other, forward, backward, optimizer, evaluation };
const char* phase_name(Phase phase);
Phase phase_of(ImportedPhase phase);

// The union of the intervals, without overlaps, in the order of time.
std::vector<Interval> merged(std::vector<Interval> intervals);
std::vector<Interval> merged(const std::vector<Backward>& backwards);

// The times at which a backward begins: the forward has kept its saves, and nothing is released yet.
class BackwardBegins {
 public:
  explicit BackwardBegins(const Process& process);
  // Cuts an interval to the span from its first backward's begin to just after its last one's; empty if it has none. In
  // a process without a backward, every time counts as one.
  Interval within(Interval when) const;

 private:
  std::vector<Time> begins_;
};

// Backward: inside a backward.
// Optimizer: inside an optimizer's step, without the forward and backward of its closure.
// Forward: begins with the first module call, or the first operator that makes a node, after the step's previous
// backward or optimizer step. It lasts until the next backward or optimizer step, without evaluations.
// Evaluation: an outermost module call with gradients disabled that makes no node, and the time from there until a
// forward goes on.
class Phases {
 public:
  Phases(const Process& process, const std::vector<Step>& steps);
  Phase at(Time time) const;
  // Sorted by time, without overlaps.
  const std::vector<Interval>& backwards() const { return backwards_; }
  const std::vector<Interval>& optimizers() const { return optimizers_; }
  // The forward and evaluation parts of an interval that contains no backward and no optimizer step, and that begins
  // with the step or after one of these. Sorted by time; no part is empty; times that are neither are left out.
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

// ---- steps and phases as bands over the time axis
struct Bands {
  struct Band {
    Interval when;
    Phase phase{};
  };
  std::vector<Interval> steps;  // no end is later than the recording's
  uint32_t first_step = 0;      // number of steps[0]
  std::vector<Band> phases;     // in the order of time, without times that have no phase
};

Bands bands(const Process& process, const std::vector<Step>& steps, const Phases& phases);

}  // namespace tapelens::model
