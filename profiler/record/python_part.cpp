// Python that the recording has run beside observe's own.
#include <cstdlib>

#include "profiler/observe/observers.h"
#include "profiler/record/float64.h"

namespace tapelens::record {

const char* python_part() { return getenv("TAPELENS_VALUES") != nullptr ? kFloat64 : nullptr; }

}  // namespace tapelens::record
