// How deep the tables and lists of a TOML file lie within one another. toml++ makes a table for each part of a dotted
// key and frees them by recursion, without a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tapelens::cli {

inline constexpr int kDeepestToml = 32;  // parts of a key; brackets

struct TomlFault {
  size_t line = 0;  // from 1
  std::string what;
};
std::optional<TomlFault> toml_fault(std::string_view toml);

}  // namespace tapelens::cli
