#include "analyzer/verify/output.h"

#include <cstdio>

#include "analyzer/verify/file.h"

namespace tapelens::verify {
namespace {

// Reads lines in pieces, because a line may be longer than memory.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(fopen(path.c_str(), "re")) {}
  // At most `most` bytes of the rest of the line, including its end; empty at the end of the file.
  std::string piece(size_t most = 65536) {
    std::string text;
    for (int c; file_ != nullptr && text.size() < most && (c = getc(file_.get())) != EOF;) {
      text += static_cast<char>(c);
      if (c == '\n') break;
    }
    return text;
  }

 private:
  File file_;
};

// Quotes the line, so that an empty line is visible.
std::string quoted(const std::string& line) {
  constexpr size_t kMost = 120;
  if (line.empty()) return "";
  const std::string text = line.substr(0, line.find('\n'));
  return '"' + (text.size() > kMost ? text.substr(0, kMost) + "..." : text) + '"';
}

}  // namespace

uint64_t count_lines(const std::string& path) {
  Lines lines(path);
  uint64_t count = 0;
  bool is_open = false;
  for (std::string piece; !(piece = lines.piece()).empty(); is_open = !piece.ends_with('\n')) {
    if (!is_open) ++count;
  }
  return count;
}

std::optional<Difference> compare_output(const std::string& bare, const std::string& other) {
  Lines mine(bare), theirs(other);
  for (uint64_t line = 1;;) {
    const std::string a = mine.piece(), b = theirs.piece();
    if (a != b) {
      Difference difference;
      difference.kind = Difference::Kind::output;
      difference.step = line;
      difference.bare = quoted(a);
      difference.rewritten = quoted(b);
      return difference;
    }
    if (a.empty()) return std::nullopt;
    if (a.ends_with('\n')) ++line;
  }
}

}  // namespace tapelens::verify
