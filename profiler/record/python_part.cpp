// Python that the recording has run beside observe's own.
#include <cstdlib>
#include <string>

#include "profiler/observe/observers.h"
#include "profiler/record/float64.h"
#include "trace/variables.h"

namespace tapelens::record {

const char* python_part() {
  if (getenv(TAPELENS_VALUES) == nullptr) return nullptr;
  static const std::string code =
      "VALUES, FLOAT64 = '" TAPELENS_VALUES "', '" TAPELENS_FLOAT64 "'\n" + std::string(kFloat64);
  return code.c_str();
}

}  // namespace tapelens::record
