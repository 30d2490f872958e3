// The files that apply the findings: a plan of rewrites, and a patch.
#pragma once

#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/check/patch.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// A plan of the findings that a rewrite fixes. A person can edit it, and a run can apply it. Requires `report.advice`.
std::string plan(const Report& report);

// The patches of all findings as one.
struct CombinedPatch {
  check::FileEdits files;             // each file once, in order of paths
  std::vector<std::string> left_out;  // a line for each finding whose patch conflicts with an earlier one
};
// Combines the patches of all findings, in their order.
CombinedPatch combined_patch(const advise::Advice& advice);

}  // namespace tapelens::report
