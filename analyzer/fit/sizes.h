// What `--vary` takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/result.h"

namespace tapelens::fit {

inline constexpr size_t kMostSizes = 1'000'000;

// "1..256", "8..512:8" (the multiples of 8 among them), "8,16,32", and these with commas between them. Ascending, each
// once. Sizes are 1 or more.
trace::Result<std::vector<uint64_t>> parse_sizes(std::string_view text);

}  // namespace tapelens::fit
