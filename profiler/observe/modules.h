// The modules that were called, by numbers in the order in which they were met, and what the calling thread is in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// A module that was not known. Its number is not used before the recording was told of it: under one lock, which the
// recording takes those of its own inside of.
uint32_t add_module(Thread& thread, std::string_view path, std::string_view type);

// "Net.layers.0" of the innermost call on this thread; empty: none.
std::string module_now(const Thread& thread);

// Of the module and the line that the calling thread is at, as far as they are known; 0: neither is.
uint64_t place_now();

}  // namespace tapelens::observe
