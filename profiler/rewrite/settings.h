// The user's settings for the rewrites, passed by `tapelens record --apply`, `run` and `verify`.
#pragma once

#include <string_view>

#include "policy/wire.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

using policy::RewriteSettings;
using policy::Site;

// Read from the environment once, at the probe's start.
inline const RewriteSettings& settings() {
  static const auto* made = new RewriteSettings(policy::settings_of_environment());
  return *made;
}
// Whether this rewrite may be applied anywhere: by level, by name, or at some site of the plan.
inline bool wants(std::string_view rewrite, Level level) {
  return settings().on && settings().may_have(rewrite, static_cast<int>(level));
}

}  // namespace tapelens::rewrite
