// What a recording lacks, said so that a user knows what to do about it.
#pragma once

#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

std::vector<Lost> losses_of(const model::Process& process);
std::vector<Lost> losses_of(const model::Text& text);  // of what all processes share: pid 0
bool is_complete(const std::vector<Lost>& lost);       // no data was lost

}  // namespace tapelens::report
