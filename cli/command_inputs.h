// The files that a command line names; outputs never replace them.
#pragma once

#include <string>
#include <vector>

#include "cli/applying.h"

namespace tapelens::cli {

// The program, and each word of the command, or part of one ("--config=a.yaml", a script of `sh -c`), that names a
// file.
std::vector<std::string> files_in_command(const std::vector<std::string>& command);
// The files of --apply and --rewrite-plugin.
std::vector<std::string> files_in(const ApplyingOptions& options);

}  // namespace tapelens::cli
