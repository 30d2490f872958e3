// From a buffer of CUPTI's to what happened.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/cupti/session.h"

namespace tapelens::cupti {

struct Happened {
  std::vector<Activity> activities;
  std::vector<PoolState> pools;
};

// Appends the activities of memory in a buffer, whatever else is in it. `names_sources`: records have MemoryActivity::
// source, and what pools have. A record that does not lie in the buffer as a whole ends it. The texts are CUPTI's,
// which keeps them.
void read_records(const Functions& functions, std::span<uint8_t> buffer, bool names_sources, Happened& happened);

}  // namespace tapelens::cupti
