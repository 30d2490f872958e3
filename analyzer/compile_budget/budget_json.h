// The result of `tapelens budget` as JSON.
#pragma once

#include <string>

#include "analyzer/compile_budget/compile_budget.h"

namespace tapelens::compile_budget {

std::string budget_json(const Sweep& sweep);

}  // namespace tapelens::compile_budget
