// Python code that the recording runs in addition to that of observe.
#include <cstdlib>
#include <string>

#include "profiler/observe/observers.h"
#include "profiler/record/activation_budget.py.h"
#include "profiler/record/float64.py.h"
#include "profiler/record/referrers.py.h"
#include "trace/variables.h"

namespace tapelens::record {

const char* python_part() {
  static const std::string code = [] {
    std::string parts;
    if (getenv(TAPELENS_VALUES) != nullptr) {
      parts += "VALUES, FLOAT64 = '" TAPELENS_VALUES "', '" TAPELENS_FLOAT64 "'\n" + std::string(kFloat64);
    }
    if (getenv(TAPELENS_ACTIVATION_BUDGET) != nullptr) {
      parts += "BUDGET_VARIABLE = '" TAPELENS_ACTIVATION_BUDGET "'\n" + std::string(kActivationBudget);
    }
    if (getenv(TAPELENS_REFERRERS) != nullptr) parts += kReferrers;
    return parts;
  }();
  return code.empty() ? nullptr : code.c_str();
}

}  // namespace tapelens::record
