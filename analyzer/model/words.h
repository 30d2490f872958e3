// Amounts as text, for checks and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/types.h"

namespace tapelens::model {

std::string bytes_text(trace::Bytes bytes);                  // "812.3 MiB", "96 B"
std::string counted(uint64_t count, std::string_view noun);  // "3 steps", "1 step"

}  // namespace tapelens::model
