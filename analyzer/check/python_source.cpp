#include "analyzer/check/python_source.h"

#include <algorithm>
#include <array>

namespace tapelens::check {

namespace {

bool begins_block(std::string_view word) {
  constexpr std::array<std::string_view, 13> kWords = {"if",  "elif",    "else",  "for",   "while",  "with", "def",
                                                       "try", "finally", "class", "async", "except", "match"};
  return std::ranges::find(kWords, word) != kWords.end();
}

}  // namespace

std::optional<PythonSource> PythonSource::parse(std::string text) {
  PythonSource source;
  source.text_ = std::make_shared<const std::string>(std::move(text));
  source.split_lines();
  if (!source.tokenize()) return std::nullopt;
  return source;
}

void PythonSource::split_lines() {
  std::string_view rest = *text_;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    lines_.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (!lines_.empty() && lines_.front().ends_with("\r\n")) line_break_ = "\r\n";
}

bool PythonSource::tokenize() {
  const std::string& text = *text_;
  PythonLexer lexer(text);
  size_t first = 0;     // token of the statement that is being read
  bool shares = false;  // its line with the statement before
  const auto end_statement = [&](uint32_t last, bool goes_on) {
    if (tokens_.size() == first) return;
    const Token& begin = tokens_[first];
    const std::string_view whole = lines_[begin.line];
    const auto column = static_cast<size_t>(text.data() + begin.offset - whole.data());
    Statement made{begin.line, last, whole.substr(0, column), first, tokens_.size(), !shares && !goes_on};
    if (shares) made.indent = statements_.back().indent;
    if (begins_block(begin.text) && tokens_.back().text != ":") made.is_alone = false;
    statements_.push_back(made);
    first = tokens_.size();
    shares = goes_on;
  };
  for (Token token{};;) {
    switch (lexer.next(token)) {
      case PythonLexer::Found::error:
        return false;
      case PythonLexer::Found::end:
        end_statement(lines_.empty() ? 0 : lines() - 1, false);
        return true;
      case PythonLexer::Found::newline:
        end_statement(lexer.line() - 1, false);
        shares = false;
        break;
      case PythonLexer::Found::token:
        if (token.text == ";") {
          end_statement(lexer.line(), true);
        } else {
          tokens_.push_back(token);
        }
        break;
    }
  }
}

size_t PythonSource::at(uint32_t line) const {
  const auto found = std::ranges::lower_bound(statements_, line, {}, &Statement::last);
  return found != statements_.end() && found->first <= line ? static_cast<size_t>(found - statements_.begin())
                                                            : statements_.size();
}

bool PythonSource::is_header(size_t statement) const {
  const Statement& s = statements_[statement];
  return s.is_alone && begins_block(begin(s)->text) && (end(s) - 1)->text == ":";
}

size_t PythonSource::block_end(size_t header) const {
  const std::string_view indent = statements_[header].indent;
  size_t end = header + 1;
  while (end < statements_.size() && statements_[end].indent.size() > indent.size()) ++end;
  return end;
}

size_t PythonSource::header_of(size_t statement) const {
  const std::string_view indent = statements_[statement].indent;
  for (size_t i = statement; i-- > 0;) {
    const std::string_view outer = statements_[i].indent;
    if (outer.size() >= indent.size()) continue;
    return is_header(i) && indent.starts_with(outer) ? i : statements_.size();
  }
  return statements_.size();
}

bool PythonSource::has_long_string(uint32_t first, uint32_t last) const {
  return std::ranges::any_of(tokens_, [&](const Token& token) {
    return token.kind == Token::Kind::string && token.line >= first && token.line <= last &&
           token.text.find('\n') != std::string_view::npos;
  });
}

}  // namespace tapelens::check
