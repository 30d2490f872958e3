// Why a command that has ended left no recording, in one line.
#pragma once

#include <string>
#include <vector>

#include "cli/child.h"

namespace tapelens::cli {

// Says what is known (how the command ended, that its program takes no preload library) and what to try. `command` is
// not empty, `end` is of a command that was started.
std::string why_nothing_was_recorded(const std::vector<std::string>& command, const ChildEnd& end);

}  // namespace tapelens::cli
