// The built-in checks. Each has a folder beside this file, and CMakeLists.txt lists the folders.
#pragma once

#include <string_view>

#include "analyzer/advise/checks.h"

namespace tapelens::plugins {

// All built-in checks. They register in the same way as third-party checks. A rejected check is an error of the build.
advise::Checks builtin_checks();

// The README.md of a built-in check, in Markdown. Empty if no such check exists.
std::string_view page(std::string_view check);

}  // namespace tapelens::plugins
