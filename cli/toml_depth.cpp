#include "cli/toml_depth.h"

#include <algorithm>

namespace tapelens::cli {

namespace {

// The position after the string or comment that begins at `at`. The parser refuses a line break in a one-line string,
// so such a string ends at the end of its line.
size_t behind(std::string_view toml, size_t at) {
  const char begin = toml[at];
  if (begin == '#') return std::min(toml.find('\n', at), toml.size());
  const bool is_long = toml.substr(at).starts_with(begin == '"' ? "\"\"\"" : "'''");
  const std::string_view end = toml.substr(at, is_long ? 3 : 1);
  for (size_t i = at + end.size(); i < toml.size(); ++i) {
    if (toml[i] == '\n' && !is_long) return i;
    if (toml.substr(i).starts_with(end)) {
      i += end.size();
      while (is_long && i < toml.size() && toml[i] == begin) ++i;  // quotes at the end of the text itself
      return i;
    }
    if (begin == '"' && toml[i] == '\\') ++i;
  }
  return toml.size();
}

}  // namespace

size_t too_deep_toml_line(std::string_view toml) {
  int parts = 1, brackets = 0;
  for (size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '#' || c == '"' || c == '\'') {
      i = behind(toml, i);
      continue;
    }
    if (c == '[' || c == '{') ++brackets;
    if (c == ']' || c == '}') --brackets;
    if (c == '.') {
      ++parts;
    } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') {
      parts = 1;
    }
    if (parts > kDeepestToml || brackets > kDeepestToml)
      return static_cast<size_t>(std::ranges::count(toml.substr(0, i), '\n')) + 1;
    ++i;
  }
  return 0;
}

}  // namespace tapelens::cli
