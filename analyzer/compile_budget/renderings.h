// The result of `tapelens budget` as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compile_budget/compile_budget.h"
#include "analyzer/text/layout.h"

namespace tapelens::compile_budget {

// A table of the runs, the answer, and remarks.
std::string budget_text(const Sweep& sweep, const text::Style& style);

// "Knee: 0.4, with a peak of 55.0 MiB (-40.3 %) and steps of 13.1 ms (+6.5 %)."
std::string answer_text(const Sweep& sweep);
// Limits of the result that a reader might miss, one sentence each.
std::vector<std::string> remarks(const Sweep& sweep);

// One run: "peak 55.0 MiB, steps of 12.3 ms", "out of memory: cuda:0 had no room for 1.5 GiB, train.py:12 forward".
std::string outcome_text(const Point& point);
std::string budget_name(double budget);  // "0.4"
// "-40.3 %", "+0.0 %" relative to the base.
std::string change_text(int64_t value, int64_t base);

std::string budget_json(const Sweep& sweep);

}  // namespace tapelens::compile_budget
