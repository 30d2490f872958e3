// Handles untrusted UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapelens::trace {

// The length of the well-formed sequence at the start of `text`, or 0 (Unicode, table 3-7).
size_t sequence_length(std::string_view text);

// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string as_utf8(std::string_view text);

}  // namespace tapelens::trace
