// The spools of a recording in progress: one for each process, in one folder.
#pragma once

#include <string>
#include <vector>

namespace tapelens::trace {

std::vector<std::string> spools_in(const std::string& folder);  // paths, sorted

}  // namespace tapelens::trace
