// Tapelens's own rewrites: the rewrite.cpp of each folder, listed in CMakeLists.txt. Part of the probe.
#pragma once

#include <span>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::plugins {

// All built-in rewrites. They register as third-party rewrites do.
std::span<const rewrite::RewriteEntry> builtin_rewrites();

}  // namespace tapelens::plugins
