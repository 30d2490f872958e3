// The checks that a command runs or lists: built-in ones, and those from TAPELENS_PLUGIN_PATH and --plugin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"

namespace tapelens::cli {

// Reports a refused plugin in one line on standard error, and continues.
advise::Checks all_checks(const std::vector<std::string>& plugins = {});

// Reports each failed check in one line.
void say_refused(const advise::Advice& advice);

std::vector<std::string> ids(const advise::Checks& checks);

// ---- tapelens advise --list: the checks, or the page of one

// `id`: the check to explain; empty: list all. `plugins`: shared libraries with further checks. Returns an exit code;
// throws CLI::ValidationError for an unknown check.
int list_checks(const std::string& id, const std::vector<std::string>& plugins, const std::string& color);

}  // namespace tapelens::cli
