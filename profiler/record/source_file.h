// The size and hash of a source file at the time when the program was read from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tapelens::record {

struct SourceContent {
  uint64_t bytes, hash;  // XXH3_64
};

// None if unknown: not a regular file of at most 16 MiB, or a file that changed since the process began, so that the
// program may come from an older content.
std::optional<SourceContent> read_source(std::string_view path);

}  // namespace tapelens::record
