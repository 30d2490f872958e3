// tapelens advise --list: the checks, or the page of one.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

// `id`: the check to explain; empty: list all. `plugins`: shared libraries with further checks. Returns an exit code;
// throws CLI::ValidationError for an unknown check.
int list_checks(const std::string& id, const std::vector<std::string>& plugins, const std::string& color);

}  // namespace tapelens::cli
