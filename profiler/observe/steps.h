// Steps: the end of a step of an optimizer ends one.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// Where is_recording().
void optimizer_begins(Thread& thread, std::string_view name);
void optimizer_ends(Thread& thread, std::string_view name);

// The program says that one ends here: where is_recording(). From the first such call on these are the only borders;
// they are recorded as steps of an optimizer that has this name.
void program_steps(Thread& thread, std::string_view name);

// How many have ended: the number of the one that is going on.
uint64_t steps_ended();

// A rewrite is about to step this parameter, in the optimizer's place and earlier.
void steps_early(c10::TensorImpl* parameter);

}  // namespace tapelens::observe
