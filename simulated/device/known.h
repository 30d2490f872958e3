// Known and unknown bytes of the GPUs' memory: simulated/known/known.h. memory.cpp stores the flags beside the ranges.
#pragma once

#include <cstddef>

namespace tapelens::simulated {

bool is_known(const void* memory, size_t bytes);
void set_known(void* memory, size_t bytes, bool known);
// Reports a copy of unknown bytes to the host.
void tell_read(size_t bytes);

}  // namespace tapelens::simulated
