// What the user asked of the rewrites, as `tapelens record --apply`, `run` and `verify` hand it over.
#pragma once

#include <string_view>

#include "profiler/rewrite/rewrite.h"
#include "rewrites/wire.h"

namespace tapelens::rewrite {

using rewrites::Settings;
using rewrites::Site;

// Read from the environment once, by the probe's start.
const Settings& settings();
// Whether anything of this rewrite may be applied: by level, by name, or at some site of the plan.
bool wants(std::string_view rewrite, Level level);

}  // namespace tapelens::rewrite
