// A Python file as lines, tokens and statements, as far as exact matching of statements needs them. The parser rejects
// a whole file if it does not understand a part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/python_lexer.h"

namespace tapelens::check {

// A logical line. An open bracket or a backslash continues it in the next line.
struct Statement {
  uint32_t first, last;     // lines, from 0
  std::string_view indent;  // the white space before it
  size_t token_begin, token_end;
  bool is_alone;  // no other statement is on its lines, neither after a semicolon nor after a header's colon
};

class PythonSource {
 public:
  // Empty if brackets or quotes do not match.
  static std::optional<PythonSource> parse(std::string text);

  const std::string& text() const { return *text_; }
  std::string_view line(uint32_t number) const { return lines_[number]; }  // with its line break, if any
  std::span<const std::string_view> all_lines() const { return lines_; }
  uint32_t lines() const { return static_cast<uint32_t>(lines_.size()); }
  std::string_view line_break() const { return line_break_; }

  const std::vector<Statement>& statements() const { return statements_; }
  // The statement that a line belongs to; statements().size(): none.
  size_t at(uint32_t line) const;
  const Token* begin(const Statement& statement) const { return tokens_.data() + statement.token_begin; }
  const Token* end(const Statement& statement) const { return tokens_.data() + statement.token_end; }
  const std::vector<Token>& tokens() const { return tokens_; }

  // The first statement after the block of `header`, a statement that ends in a colon.
  size_t block_end(size_t header) const;
  // The header of the statement's block; statements().size(): no header, or mixed tabs and spaces.
  size_t header_of(size_t statement) const;
  bool is_header(size_t statement) const;  // with its block in separate lines
  // Whether a string or a bracket spans several of these lines, so that a patch cannot indent them line by line.
  bool has_long_string(uint32_t first, uint32_t last) const;

 private:
  bool tokenize();
  void split_lines();

  std::shared_ptr<const std::string> text_;  // target of the views
  std::vector<std::string_view> lines_;
  std::string_view line_break_ = "\n";
  std::vector<Token> tokens_;
  std::vector<Statement> statements_;
};

}  // namespace tapelens::check
