// Tokens of Python 3.8 to 3.15, as far as matching statements needs them. A string is one token. So is an f-string or a
// t-string with all its fields: since 3.12 (PEP 701) these may contain the string's own quotes, comments and line
// breaks. Text that was valid before 3.12 yields the same tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapelens::check {

struct Token {
  enum class Kind : uint8_t { name, number, string, op };
  Kind kind;
  std::string_view text;
  uint32_t line;  // of its first character, from 0
  size_t offset;  // into the text
};

class PythonLexer {
 public:
  // `text` has to outlive the lexer and its tokens.
  explicit PythonLexer(std::string_view text) : text_(text) {}

  enum class Found : uint8_t {
    token,
    newline,  // ends a logical line; absent in brackets and after a backslash
    end,
    error,  // unmatched brackets or quotes, or a character that Python does not use; the lexer stops
  };
  // `token` is set if one was found.
  Found next(Token& token);
  // From 0; after a newline, the next line.
  uint32_t line() const { return line_; }

 private:
  struct Literal;  // the current string
  bool take_blank();
  bool take_token(Token::Kind& kind, std::string& brackets, int depth);
  bool take_string(std::string_view prefix, int depth);
  bool take_text(const Literal& literal, bool is_format_spec, int depth);
  bool take_field(const Literal& literal, int depth);
  bool take_escape();
  void take_number();
  bool take_operator(std::string& brackets);
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string_view text_;
  std::string brackets_;  // open brackets
  size_t at_ = 0;
  uint32_t line_ = 0;
};

}  // namespace tapelens::check
