// How the command line passes the rewrite settings to the probe of a run: in the environment, with the sites in a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/plan.h"

namespace tapelens::policy {

struct RewriteSettings : RewriteSelection {
  bool on = false;
  bool poison = false;               // NaN for all never-read values
  std::vector<std::string> plugins;  // shared libraries with further rewrites: absolute paths without colons
  std::string tally;                 // the folder for the counts of each process (tally_file.h); empty: not requested
};

using Environment = std::vector<std::pair<std::string, std::string>>;
// Each variable of the contract. A variable without a value here must be removed from the child's environment. `sites`:
// the file with flat(settings.sites); not needed without sites.
Environment environment_of(const RewriteSettings& settings, const std::string& sites);
// The settings of this process. An unreadable value counts as not set.
RewriteSettings settings_of_environment();

// One site per line, with its members separated by tabs; no member has a tab or a line break.
std::string flat(const std::vector<Site>& sites);
std::vector<Site> sites_of(std::string_view flat);

}  // namespace tapelens::policy
