// Asks git, where there is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tapelens::cli {

// What `git -C FOLDER WORDS...` writes to its standard output; nothing if it fails, or there is no git.
std::optional<std::string> git(const std::string& folder, const std::vector<std::string>& words);

}  // namespace tapelens::cli
