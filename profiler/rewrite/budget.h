// What this process knows of rematerializations: how much of them it may have, and which give the right bits.
#pragma once

#include "profiler/versions/shared_budget.h"
#include "profiler/versions/trials.h"

namespace tapelens::rewrite {

versions::SharedBudget& budget();
versions::Trials& trials();

}  // namespace tapelens::rewrite
