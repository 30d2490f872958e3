// A plan as `tapelens advise --write-plan` wrote it and a person edited it: read and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewrites/plan.h"
#include "trace/result.h"

namespace tapelens::cli {

// The sites that are enabled. `known`: the rewrites that there are; empty: others may be meant too. The error names the
// file, the site and what is wrong with it.
trace::Result<std::vector<rewrites::Site>> read_plan(const std::string& path, const std::vector<std::string>& known);

}  // namespace tapelens::cli
