// How the command line tells the probe of a run what to rewrite: in the environment, sites in a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewrites/plan.h"

namespace tapelens::rewrites {

struct Settings : Selection {
  bool on = false;
  bool poison = false;               // NaN for everything that is never read
  std::vector<std::string> plugins;  // shared libraries with further rewrites: absolute paths without colons
  std::string tally;                 // the folder for the counts of each process (tally_file.h); empty: not wanted
};

using Environment = std::vector<std::pair<std::string, std::string>>;
// Each variable of the contract: what is not set is to be taken out of the child's environment, and has no value here.
// `sites`: the file that has flat(settings.sites); not needed without any.
Environment environment_of(const Settings& settings, const std::string& sites);
// Of this process. What cannot be read is as if it were not there.
Settings settings_of_environment();

// One site a line, its members separated by tabs; none of them has a tab or a line break.
std::string flat(const std::vector<Site>& sites);
std::vector<Site> sites_of(std::string_view flat);

}  // namespace tapelens::rewrites
