// The nesting depth of tables and lists in a TOML file. toml++ makes a table for each part of a dotted key and frees
// them recursively, without a limit.
#pragma once

#include <cstddef>
#include <string_view>

namespace tapelens::cli {

inline constexpr int kDeepestToml = 32;  // parts of a key; nested brackets

// The first line (from 1) where a key has more parts, or a value more nested brackets, than kDeepestToml; 0 if none.
size_t too_deep_toml_line(std::string_view toml);

}  // namespace tapelens::cli
