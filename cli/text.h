// What is typed on the command line: sizes, steps, and the nearest word to a mistyped one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::cli {

// "8GiB", "500M", "1073741824": powers of 1024 with and without `i` and `B`. Nothing if it is no such size.
std::optional<uint64_t> parse_bytes(std::string_view text);

// "0640", "640": permissions of a file, octal. Nothing if it is none, or its owner could not read and write it.
std::optional<uint32_t> parse_mode(std::string_view text);

// "A:B", "A:" and ":B" are steps A up to, not including, B; a single "A" is that step. Answers "A:B" with both filled
// in as far as they were given.
std::optional<std::string> parse_steps(std::string_view text);

// "120s", "2m", "1.5h"; a bare number is seconds. Nanoseconds; nothing if it is no such time, or none at all.
std::optional<int64_t> parse_duration(std::string_view text);

// "peak>60GiB": more bytes than these, at least 1. Nothing if it is no such condition.
std::optional<uint64_t> parse_peak(std::string_view text);

// With commas or the like between them.
std::string joined(const std::vector<std::string>& words, std::string_view between);

// The word that was probably meant, if one is near enough.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

}  // namespace tapelens::cli
