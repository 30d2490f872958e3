// Explains in one line why a command left no recording.
#pragma once

#include <string>
#include <vector>

#include "cli/child.h"

namespace tapelens::cli {

// Combines known facts (how the command ended, whether its program ignores preloaded libraries) with advice. `command`
// is not empty; `end` is of a started command.
std::string why_nothing_was_recorded(const std::vector<std::string>& command, const ChildEnd& end);

}  // namespace tapelens::cli
