// Parses words of the command line: steps, times, and the nearest word to a mistyped one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/words.h"

namespace tapelens::cli {

using model::parse_bytes;

// "0640", "640": octal file permissions. Empty if invalid, or if the owner could not read and write the file.
std::optional<uint32_t> parse_mode(std::string_view text);

// "A:B", "A:" and ":B" are steps A up to, not including, B; a single "A" is that step. Returns "A:B" with the given
// bounds.
std::optional<std::string> parse_steps(std::string_view text);

// "120s", "2m", "1.5h"; a bare number is in seconds. Returns nanoseconds; empty if it is not a valid time, or is zero.
std::optional<int64_t> parse_duration(std::string_view text);

// "peak>60GiB": more than this many bytes, at least 1. Empty if it is not a valid condition.
std::optional<uint64_t> parse_peak(std::string_view text);

// Joins words with a separator.
std::string joined(const std::vector<std::string>& words, std::string_view between);

// The first error in the English output of a compiler or linker: "x.h:5:3: error: 'y' was not declared". Without an
// error, as in the output of Python, it is the last line. Empty if the output is empty.
std::string first_error(std::string_view output);

// The most similar word, if one is similar enough.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

}  // namespace tapelens::cli
