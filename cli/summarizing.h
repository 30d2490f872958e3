// The summary that a sealed file carries (analyzer/ranks/summary.h), worked out in a process of its own: whatever
// happens there, the recording is sealed, at worst without one.
#pragma once

#include <string>

namespace tapelens::cli {

// For SealOptions::summarize. Empty: there is none.
std::string summarize_apart(const std::string& file);

}  // namespace tapelens::cli
