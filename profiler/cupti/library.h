// Where the process has its CUPTI.
#pragma once

#include <optional>

#include "profiler/cupti/layout.h"

namespace tapelens::cupti {

// Of the copy that PyTorch loaded, else of any that is loaded. None if there is none, or it lacks what is needed: a
// second copy, loaded by us, would be another CUPTI than the program's.
std::optional<Functions> find_functions();

}  // namespace tapelens::cupti
