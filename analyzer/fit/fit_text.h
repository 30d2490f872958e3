// The result of `tapelens fit` as text.
#pragma once

#include <string>
#include <vector>

#include "analyzer/fit/fit.h"

namespace tapelens::fit {

// A table for each search, its answer, and remarks.
std::string fit_text(const Fit& fit);

// The answer of a search: "Largest that fits: 11. 12 does not."
std::string answer_text(const Series& series);
// Limits of the result that a reader might miss, one sentence each.
std::vector<std::string> remarks(const Series& series, uint64_t steps);

std::string label(const Setting& setting);  // "H100 with lossless"
// One run: "fits, 20.1 GiB allocated", "does not fit: cuda:0 had no room for 1.50 GiB, model.py:12 forward".
std::string outcome_text(const Point& point);

}  // namespace tapelens::fit
