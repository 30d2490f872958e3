// The files that a command line names: what is read is not written.
#pragma once

#include <string>
#include <vector>

#include "cli/applying.h"

namespace tapelens::cli {

// The program, and each word of the command, or part of one ("--config=a.yaml", a script of `sh -c`), that is a file.
std::vector<std::string> files_in_command(const std::vector<std::string>& command);
// Of --apply, --plan and --rewrite-plugin.
std::vector<std::string> files_in(const ApplyingOptions& options);

}  // namespace tapelens::cli
