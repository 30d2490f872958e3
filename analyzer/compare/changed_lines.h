// Which lines of a file changed between two versions of it, told apart by whether they can matter: lines that only
// moved or were indented, and names that only became others, come last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::compare {

struct ChangedLine {
  // In the order in which they are thought of as a cause.
  enum class Kind : uint8_t { changed, added, removed, moved, renamed };
  Kind kind{};
  uint32_t line = 0;     // in the new version, from 1; of a removed one: what stands in its place now
  std::string text;      // without the white space around it; of a removed one as it was
  std::string old_text;  // of a changed one
  std::string function;  // the name of the `def` around it in the new version; empty: none

  bool can_matter() const { return kind != Kind::moved && kind != Kind::renamed; }
};
const char* kind_name(ChangedLine::Kind kind);  // "changed", ...

// Lines that hold nothing, or a comment alone, are left out.
std::vector<ChangedLine> changed_lines(std::string_view before, std::string_view after);

// The words of a line of code that are names.
std::vector<std::string_view> names_in(std::string_view code);

}  // namespace tapelens::compare
