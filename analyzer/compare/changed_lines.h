// The changed lines between two versions of a file, sorted by whether they can matter. Moved or indented lines, and
// lines in which only names changed, come last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::compare {

struct ChangedLine {
  // In the order in which they are likely to be the cause.
  enum class Kind : uint8_t { changed, added, removed, moved, renamed };
  Kind kind{};
  uint32_t line = 0;     // in the new version, from 1; for a removed line, the line now in its place
  std::string text;      // trimmed; for a removed line, its old text
  std::string old_text;  // only for a changed line
  std::string function;  // the `def` around the line in the new version; empty: none

  bool can_matter() const { return kind != Kind::moved && kind != Kind::renamed; }
};
const char* kind_name(ChangedLine::Kind kind);  // "changed", ...

// Leaves out empty lines and lines with only a comment.
std::vector<ChangedLine> changed_lines(std::string_view before, std::string_view after);

// The names in a line of code.
std::vector<std::string_view> names_in(std::string_view code);

}  // namespace tapelens::compare
