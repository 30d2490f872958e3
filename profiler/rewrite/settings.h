// The user's settings for the rewrites, passed by `tapelens record --apply`, `run` and `verify`.
#pragma once

#include <string_view>

#include "policy/wire.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

using policy::Settings;
using policy::Site;

// Read from the environment once, at the probe's start.
const Settings& settings();
// Whether this rewrite may be applied anywhere: by level, by name, or at some site of the plan.
bool wants(std::string_view rewrite, Level level);

}  // namespace tapelens::rewrite
