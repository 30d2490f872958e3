// Decodes a CUPTI buffer.
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

// Appends the memory activities in a buffer, and skips other records. `names_sources`: records have
// MemoryActivity::source, and the sizes of pools. Stops at a record that is not completely in the buffer. CUPTI owns
// the texts and keeps them.
void read_records(const Functions& functions, std::span<uint8_t> buffer, bool names_sources, Happened& happened);

}  // namespace tapelens::cupti
