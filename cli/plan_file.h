// Reads and checks a plan from `tapelens advise --write-plan` or `tapelens run --fit --write-plan`, which the user may
// have edited.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/plan.h"
#include "trace/result.h"

namespace tapelens::cli {

// Its level, recompute budget, allowed rewrites and limit of the host's memory, if it has them, and its enabled sites.
// `known`: the existing rewrites; empty: any name is allowed. The error names the file and the site, and says what is
// wrong.
trace::Result<policy::RewriteSelection> read_plan(const std::string& path, const std::vector<std::string>& known);

}  // namespace tapelens::cli
