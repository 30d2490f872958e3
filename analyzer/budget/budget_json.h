// The result of `tapelens budget` as JSON.
#pragma once

#include <string>

#include "analyzer/budget/budget.h"

namespace tapelens::budget {

std::string budget_json(const Sweep& sweep);

}  // namespace tapelens::budget
