// Which size to run next. A run takes seconds, so few are made: where peaks of two sizes are known, a line through them
// says where the memory ends, or nearly: some percent of it no block can use. Now and then what is left is halved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/fit/fit.h"

namespace tapelens::fit {

// Of runs that fitted, this setting's or another's that allocates the same: GPUs of other sizes.
struct Known {
  uint64_t size;
  Bytes allocated;
};

// The next of series.sizes to run; none: the answer is known as far as it can be. `hints` are believed of where to
// look, never of what fits.
std::optional<uint64_t> next_size(const Series& series, std::span<const Known> hints);

}  // namespace tapelens::fit
