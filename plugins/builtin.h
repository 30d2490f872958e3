// Tapelens's own checks: one folder each beside this file, listed in CMakeLists.txt.
#pragma once

#include <string_view>

#include "analyzer/advise/checks.h"

namespace tapelens::plugins {

// All built-in checks. They register as third-party checks do; a refusal is an error of the build.
advise::Checks builtin_checks();

// The README.md of a built-in check, in Markdown; empty: no such check.
std::string_view page(std::string_view check);

}  // namespace tapelens::plugins
