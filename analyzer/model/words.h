// Amounts as text, for checks, reports and options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/types.h"

namespace tapelens::model {

std::string bytes_text(trace::Bytes bytes);  // "812.3 MiB", "96 B"
// "8GiB", "500 MB", "64K", "1073741824": KiB, MiB, GiB, TiB and PiB are powers of 1024, KB, MB, GB, TB and PB powers of
// 1000, in upper or lower case. A single letter is a power of 1024, as in GNU's tools. Empty if the text is not a size.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::string count_text(uint64_t count);                                           // "1,204"
std::string plural(uint64_t count, std::string_view one, std::string_view many);  // "1 save", "1,204 saves"
std::string counted(uint64_t count, std::string_view noun);                       // "3 steps", "1 step"

}  // namespace tapelens::model
