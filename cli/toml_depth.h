// How deep the tables and lists of a TOML file lie within one another. toml++ makes a table for each part of a dotted
// key and frees them by recursion, without a limit.
#pragma once

#include <cstddef>
#include <string_view>

namespace tapelens::cli {

inline constexpr int kDeepestToml = 32;  // parts of a key; brackets

// The line, from 1, where a key has more parts or a value more brackets around it than kDeepestToml; 0: nowhere.
size_t too_deep_toml_line(std::string_view toml);

}  // namespace tapelens::cli
