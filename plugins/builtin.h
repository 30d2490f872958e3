// Tapelens' own checks: one folder each beside this file, listed in CMakeLists.txt.
#pragma once

#include "analyzer/advise/checks.h"

namespace tapelens::plugins {

// All of them. They are registered as a third party's would be; one that is refused is a mistake of the build.
advise::Checks builtin_checks();

}  // namespace tapelens::plugins
