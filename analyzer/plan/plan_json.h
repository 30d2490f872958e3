// The file of a plan, which `--apply` takes.
#pragma once

#include <string>

#include "analyzer/plan/plan.h"

namespace tapelens::plan {

// Requires a choice. `command`: shell-quoted. `gpu`: simulated by the runs; empty: the machine's own devices.
std::string plan_json(const Plan& plan, const std::string& command, const std::string& gpu);

}  // namespace tapelens::plan
