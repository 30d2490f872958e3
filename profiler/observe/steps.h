// Which steps are recorded in full.
#pragma once

#include <cstdint>

namespace tapelens::capture {

// Steps count from 0; `last` is the first that is not recorded any more.
struct StepWindow {
  bool given = false;
  uint64_t first = 0, last = UINT64_MAX;
};
extern StepWindow g_window;

// How many have ended: the number of the one that is going on.
uint64_t steps_ended();

}  // namespace tapelens::capture
