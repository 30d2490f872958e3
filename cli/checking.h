// The checks that a command runs or lists: Tapelens' own, those of TAPELENS_PLUGIN_PATH, those of --plugin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"

namespace tapelens::cli {

// A plugin that is refused is one line on standard error; the rest goes on.
advise::Checks all_checks(const std::vector<std::string>& plugins = {});

// A line for each check that failed.
void say_refused(const advise::Advice& advice);

std::vector<std::string> ids(const advise::Checks& checks);

}  // namespace tapelens::cli
