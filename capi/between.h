// What was alive in a part of a process's time, for whoever measures parts of a program: tests, cells, callbacks.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "analyzer/peak/groups.h"
#include "analyzer/tables/part.h"

namespace tapelens::capi {

// Of each device that the process allocated on: what was alive at the begin, the most until the end, when that was, and
// the largest groups of who held it then.
nlohmann::json peaks_between(const tables::Part& part, model::Interval when, peak::By by, size_t groups);

}  // namespace tapelens::capi
