// XXH3, the checksum of spools and sealed files, compiled into whoever includes this.
#pragma once

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tapelens::trace {

inline uint64_t checksum_of(const void* bytes, size_t count) { return XXH3_64bits(bytes, count); }

}  // namespace tapelens::trace
