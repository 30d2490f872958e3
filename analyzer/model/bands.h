// Steps and phases as bands over the time axis.
#pragma once

#include <vector>

#include "analyzer/model/steps.h"

namespace tapelens::model {

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
