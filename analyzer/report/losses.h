// What a recording lacks, said so that a user knows what to do about it.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace tapelens::report {

Lost describe(const model::Lost& lost, uint32_t pid);

}  // namespace tapelens::report
