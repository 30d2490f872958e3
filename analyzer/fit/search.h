// Chooses the next size to run. A run takes seconds, so the search makes few. Once two peaks are known, a line through
// them predicts where the memory ends, except for some percent that no block can use. Some runs bisect instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/fit/fit.h"

namespace tapelens::fit {

// A run that fitted, of this setting or of another one with the same allocations (a GPU of another size).
struct KnownPeak {
  uint64_t size;
  Bytes allocated;
};

// The next of series.sizes to run; none if the answer is as exact as possible. `hints` influence only the order of the
// search, never the answer.
std::optional<uint64_t> next_size(const Series& series, std::span<const KnownPeak> hints);

}  // namespace tapelens::fit
