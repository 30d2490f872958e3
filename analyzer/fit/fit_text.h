// What `tapelens fit` says, to a person.
#pragma once

#include <string>
#include <vector>

#include "analyzer/fit/fit.h"

namespace tapelens::fit {

// A table for each search, its answer and what is to be known of it.
std::string fit_text(const Fit& fit);

// What the runs of a search say: "Largest that fits: 11. 12 does not."
std::string answer_text(const Series& series);
// What of it a reader could take for more than it is, a sentence each.
std::vector<std::string> remarks(const Series& series, uint64_t steps);

// One run: "fits, 20.1 GiB allocated", "does not fit: cuda:0 had no room for 1.50 GiB, model.py:12 forward".
std::string outcome_text(const Point& point);

}  // namespace tapelens::fit
