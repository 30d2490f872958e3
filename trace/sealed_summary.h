// The summary that a sealed file carries (SealOptions::summarize), read without its columns.
#pragma once

#include <string>

#include "trace/result.h"

namespace tapelens::trace {

// Header, directory and footer are verified, chunks are not read. Empty: the file has none, as those of older versions.
// Errors are those of Recording::open.
Result<std::string> read_summary(const std::string& path);

}  // namespace tapelens::trace
