// The called modules, numbered in the order of their first call, and the module calls that the calling thread is in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// Adds an unknown module. Its number is not used before it is reported to the recording. Lock order: this holds its own
// lock and the recording takes its locks inside.
uint32_t add_module(Thread& thread, std::string_view path, std::string_view type);

// The module path of the innermost call on this thread, "Net.layers.0"; empty: none.
std::string module_now(const Thread& thread);

// A hash of the module and the line that the calling thread is at, as far as known; 0: neither is known.
uint64_t place_now();

}  // namespace tapelens::observe
