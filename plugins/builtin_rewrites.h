// Tapelens' own rewrites: the rewrite.cpp of each folder that has one, listed in CMakeLists.txt. Part of the probe.
#pragma once

#include <span>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::plugins {

// All of them. They are registered as a third party's would be.
std::span<const rewrite::RewriteEntry> builtin_rewrites();

}  // namespace tapelens::plugins
