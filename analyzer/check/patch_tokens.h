// Functions for patches on tokens and lines of Python source.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/patch.h"
#include "analyzer/check/python_source.h"

namespace tapelens::check {

using Tokens = std::span<const Token>;

inline bool is(const Token& token, std::string_view text) {
  return token.text == text && token.kind != Token::Kind::string;
}

// The number of tokens from `at` on that form a dotted name, "self.total"; 0: none.
inline size_t dotted(Tokens tokens, size_t at) {
  if (at >= tokens.size() || tokens[at].kind != Token::Kind::name) return 0;
  size_t count = 1;
  while (at + count + 1 < tokens.size() && is(tokens[at + count], ".") &&
         tokens[at + count + 1].kind == Token::Kind::name) {
    count += 2;
  }
  return count;
}

inline bool same(Tokens a, Tokens b) {
  return std::ranges::equal(a, b, [](const Token& x, const Token& y) { return x.text == y.text; });
}

inline std::string text_of(Tokens tokens) {
  return tokens.empty()
             ? std::string()
             : std::string(tokens.front().text.data(), tokens.back().text.data() + tokens.back().text.size());
}

inline int depth_change(const Token& token) {
  if (token.kind != Token::Kind::op || token.text.size() != 1) return 0;
  const char c = token.text.front();
  return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

// The bracket that closes the one at `open`. All brackets of `tokens` must be closed.
inline size_t closing(Tokens tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    depth += depth_change(tokens[i]);
    if (depth == 0) return i;
  }
  return tokens.size();
}

// The first such token outside of all brackets; size(): none.
inline size_t find_outside(Tokens tokens, std::string_view text, size_t from = 0) {
  int depth = 0;
  for (size_t i = from; i < tokens.size(); ++i) {
    if (depth == 0 && is(tokens[i], text)) return i;
    depth += depth_change(tokens[i]);
  }
  return tokens.size();
}

inline bool mentions(Tokens tokens, std::string_view name) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_attribute = i > 0 && is(tokens[i - 1], ".");
    if (tokens[i].kind == Token::Kind::name && tokens[i].text == name && !is_attribute) return true;
    // An f-string may contain the name.
    if (tokens[i].kind == Token::Kind::string && tokens[i].text.find(name) != std::string_view::npos) return true;
  }
  return false;
}

// A line with text inserted after a token.
inline Edit put_behind(const PythonSource& source, const Token& token, std::string_view what) {
  const std::string_view line = source.line(token.line);
  const auto column = static_cast<size_t>(token.text.data() + token.text.size() - line.data());
  std::string changed(line);
  return {token.line, 1, {changed.insert(column, what)}};
}

// New lines after a line.
inline Edit put_after(const PythonSource& source, uint32_t line, const std::vector<std::string>& texts) {
  Edit edit{line + 1, 0, {}};
  if (!source.line(line).ends_with('\n'))
    edit = {line, 1, {std::string(source.line(line)) + std::string(source.line_break())}};
  for (const std::string& text : texts) edit.added.push_back(text + std::string(source.line_break()));
  return edit;
}

}  // namespace tapelens::check
