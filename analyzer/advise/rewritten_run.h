// The available rewrites of a run, and the changes that each makes to a recorded run. The prediction of `tapelens
// advise --apply` uses them, in the form that the allocator's replay takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"

namespace tapelens::advise {

struct RewrittenRun {
  std::string options;  // of `tapelens run`: "--apply lossless", "--allow wide-save"
  // All rewrites together, for each of the two bounds on the variables' release of saved tensors (peak::Analysis).
  std::vector<Change> changes, longest;
};

// Omits rewrites without effect. Levels come first, then each of Tapelens's own rewrites with a predicted effect.
std::vector<RewrittenRun> rewritten_runs(const peak::DeviceAnalysis& device, Checks& checks, const Wanted& wanted);

}  // namespace tapelens::advise
