// Tapelens' own checks: one folder each beside this file, listed in CMakeLists.txt.
#pragma once

#include <string_view>

#include "analyzer/advise/checks.h"

namespace tapelens::plugins {

// All of them. They are registered as a third party's would be; one that is refused is a mistake of the build.
advise::Checks builtin_checks();

// The README.md of a built-in check, in Markdown; empty: no such check.
std::string_view page(std::string_view check);

}  // namespace tapelens::plugins
