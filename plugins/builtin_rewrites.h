// The built-in rewrites: the rewrite.cpp of each folder that CMakeLists.txt lists. They are part of the probe.
#pragma once

#include <span>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::plugins {

// All built-in rewrites. They register in the same way as third-party rewrites.
std::span<const rewrite::RewriteEntry> builtin_rewrites();

}  // namespace tapelens::plugins
