// What a source file held when the program was read from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tapelens::record {

struct SourceContent {
  uint64_t bytes, hash;  // XXH3_64
};

// None where that is not known: no regular file of at most 16 MiB, or one that was changed since the process began, so
// that the program may have been read from what was there before.
std::optional<SourceContent> read_source(std::string_view path);

}  // namespace tapelens::record
