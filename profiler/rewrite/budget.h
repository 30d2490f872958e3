// Rematerializations in this process: their budget, and which of them reproduce the bits.
#pragma once

#include "profiler/versions/shared_budget.h"
#include "profiler/versions/trials.h"

namespace tapelens::rewrite {

versions::SharedBudget& budget();
versions::Trials& trials();

}  // namespace tapelens::rewrite
