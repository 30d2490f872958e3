// The patches of all findings as one.
#pragma once

#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/check/patch.h"

namespace tapelens::report {

struct CombinedPatch {
  check::FileEdits files;             // each file once, in order of paths
  std::vector<std::string> left_out;  // a line for each finding whose patch conflicts with an earlier one
};
// Combines the patches of all findings, in their order.
CombinedPatch combined_patch(const advise::Advice& advice);

}  // namespace tapelens::report
