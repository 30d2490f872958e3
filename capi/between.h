// The peak memory during a part of a process's time, for callers that measure parts of a program: tests, cells,
// callbacks.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "analyzer/peak/groups.h"
#include "analyzer/tables/part.h"

namespace tapelens::capi {

// For each device that the process allocated on: the live bytes at the begin, the peak until the end with its time, and
// the largest groups of holders at the peak.
nlohmann::json peaks_between(const tables::Part& part, model::Interval when, peak::By by, size_t groups);

}  // namespace tapelens::capi
