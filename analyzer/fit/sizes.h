// Parses the value of `--vary`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/result.h"

namespace tapelens::fit {

inline constexpr size_t kMostSizes = 1'000'000;

// "1..256", "8..512:8" (the multiples of 8 in that range), "8,16,32", and combinations with commas. Ascending, without
// repeats; sizes are at least 1.
trace::Result<std::vector<uint64_t>> parse_sizes(std::string_view text);

}  // namespace tapelens::fit
