// The sentences of a plan, for the terminal.
#pragma once

#include <string>

#include "analyzer/plan/plan.h"

namespace tapelens::plan {

// "as it is", "bitwise", "recompute 12%".
std::string name_of(const Choice& choice);
// "needs 20.1 GiB", "needs more than 8.0 GiB" (a request failed), "failed".
std::string outcome_text(const Tried& tried, Bytes size);
// The result in one or two sentences: the choice with its memory, or why none was found and the least memory.
std::string plan_text(const Plan& plan);

}  // namespace tapelens::plan
