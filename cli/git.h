// Runs git, if it is installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tapelens::cli {

// The standard output of `git -C FOLDER WORDS...`; empty if git fails or is missing.
std::optional<std::string> git(const std::string& folder, const std::vector<std::string>& words);

}  // namespace tapelens::cli
