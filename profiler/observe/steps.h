// Steps: a step ends when an optimizer's step ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// Only if is_recording().
void optimizer_begins(Thread& thread, std::string_view name);
void optimizer_ends(Thread& thread, std::string_view name);

// The program marks the end of a step; only if is_recording(). From the first mark on, marks are the only borders. They
// are recorded as steps of an optimizer with this name.
void program_steps(Thread& thread, std::string_view name);

// The number of ended steps, which is the index of the current one.
uint64_t steps_ended();

// A rewrite is about to step this parameter early, in place of the optimizer.
void steps_early(c10::TensorImpl* parameter);

}  // namespace tapelens::observe
