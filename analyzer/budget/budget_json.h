// The same for a program.
#pragma once

#include <string>

#include "analyzer/budget/budget.h"

namespace tapelens::budget {

std::string budget_json(const Sweep& sweep);

}  // namespace tapelens::budget
