// The summary that a sealed file stores (SealOptions::summarize), read without the columns.
#pragma once

#include <string>

#include "trace/result.h"

namespace tapelens::trace {

// Verifies header, directory and footer, and does not read chunks. Empty if the file has no summary, as in older
// versions. Errors are those of Recording::open.
Result<std::string> read_summary(const std::string& path);

}  // namespace tapelens::trace
