#include "cli/checking.h"

#include "cli/messages.h"
#include "plugins/builtin.h"

namespace tapelens::cli {

advise::Checks all_checks(const std::vector<std::string>& plugins) {
  advise::Checks checks = plugins::builtin_checks();
  for (const std::string& refused : checks.load_folders()) say(refused);
  for (const std::string& path : plugins) {
    if (const auto loaded = checks.load(path); !loaded) say(loaded.error().message);
  }
  return checks;
}

void say_refused(const advise::Advice& advice) {
  for (const std::string& refused : advice.refused) say("check failed: " + refused);
}

std::vector<std::string> ids(const advise::Checks& checks) {
  std::vector<std::string> all;
  for (const advise::Checks::Entry& entry : checks.entries()) all.emplace_back(entry.check->info().id);
  return all;
}

}  // namespace tapelens::cli
