// The patches of all findings as one.
#pragma once

#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/check/patch.h"

namespace tapelens::report {

struct CombinedPatch {
  check::FileEdits files;             // each once, in the order of their paths
  std::vector<std::string> left_out;  // a line for each finding whose patch does not fit with those before it
};
// Combines the patches of all findings, in their order.
CombinedPatch combined_patch(const advise::Advice& advice);

}  // namespace tapelens::report
