// Computes the summary of a sealed file (analyzer/ranks/summary.h) in a separate process. If that fails, the recording
// is still sealed, without a summary.
#pragma once

#include <string>

namespace tapelens::cli {

// For SealOptions::summarize. Empty if the summary failed.
std::string summarize_apart(const std::string& file);

}  // namespace tapelens::cli
