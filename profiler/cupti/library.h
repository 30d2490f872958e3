// Finds the process's CUPTI.
#pragma once

#include <optional>

#include "profiler/cupti/layout.h"

namespace tapelens::cupti {

// The functions of the copy that PyTorch loaded, else of any loaded copy. None if no copy is loaded, or if it lacks a
// needed function: a second copy, loaded here, would be separate from the program's CUPTI.
std::optional<Functions> find_functions();

}  // namespace tapelens::cupti
