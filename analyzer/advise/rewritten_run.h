// The rewrites that a run could be started with, and what each would change of a recorded one: the prediction of
// `tapelens advise --apply`, as changes that the allocator's replay takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"

namespace tapelens::advise {

struct RewrittenRun {
  std::string options;  // of `tapelens run`: "--apply lossless", "--allow wide-save"
  // All of them together, by each of the bounds on when variables released what is saved as well (peak::Analysis).
  std::vector<Change> changes, longest;
};

// What changes nothing is left out. Levels first; then of Tapelens's own rewrites each whose effect is predicted.
std::vector<RewrittenRun> rewritten_runs(const peak::DeviceAnalysis& device, Checks& checks, const Wanted& wanted);

}  // namespace tapelens::advise
