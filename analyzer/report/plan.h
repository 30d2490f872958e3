// A plan of rewrites from the findings.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace tapelens::report {

// A plan of the findings that a rewrite fixes. A person can edit it, and a run can apply it. Requires `report.advice`.
std::string plan(const Report& report);

}  // namespace tapelens::report
