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
  std::vector<Interval> steps;  // ends are the recording's at most
  uint32_t first_step = 0;      // the number of the first of them
  std::vector<Band> phases;     // in the order of time; what is of no phase is left out
};

Bands bands(const Process& process, const std::vector<Step>& steps, const Phases& phases);

}  // namespace tapelens::model
