#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {

const Settings& settings() {
  static const auto* made = new Settings(policy::settings_of_environment());
  return *made;
}

bool wants(std::string_view rewrite, Level level) {
  return settings().on && settings().may_have(rewrite, static_cast<int>(level));
}

}  // namespace tapelens::rewrite
