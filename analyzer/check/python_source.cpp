#include "analyzer/check/python_source.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tapelens::check {

namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }
bool is_name_part(char c) { return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_string_prefix(std::string_view word) {
  return word.size() <= 2 && std::ranges::all_of(word, [](char c) {
           return std::string_view("rRbBuUfFtT").find(c) != std::string_view::npos;
         });
}

constexpr std::array<std::string_view, 24> kOperators = {
    "**=", "//=", "<<=", ">>=", "...", "!=", "==", "<=", ">=", "->", "+=", "-=",
    "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", ":=", "**", "//", "<<", ">>"};

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

// From its first quote to behind its last.
bool PythonSource::take_string(size_t& at, uint32_t& line) {
  const std::string& text = *text_;
  const char quote = text[at];
  const bool is_long = text.compare(at, 3, std::string(3, quote)) == 0;
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      if (++at < text.size() && text[at] == '\n') ++line;
    } else if (text[at] == '\n') {
      if (!is_long) return false;
      ++line;
    } else if (text[at] == quote && (!is_long || text.compare(at, 3, std::string(3, quote)) == 0)) {
      at += is_long ? 3 : 1;
      return true;
    }
  }
  return false;
}

bool PythonSource::tokenize() {
  const std::string& text = *text_;
  std::string brackets;
  uint32_t line = 0;
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
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') {
      if (brackets.empty()) {
        end_statement(line, false);
        shares = false;
      }
      ++line;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '\\') {
      at += text.compare(at, 3, "\\\r\n") == 0 ? 2 : 1;
      if (at >= text.size() || text[at] != '\n') return false;
      ++line;
      ++at;
    } else if (c == ';' && brackets.empty()) {
      end_statement(line, true);
      ++at;
    } else {
      const size_t begin = at;
      const uint32_t begin_line = line;
      Token::Kind kind = Token::Kind::op;
      if (is_name_start(c)) {
        while (at < text.size() && is_name_part(text[at])) ++at;
        const std::string_view word = std::string_view(text).substr(begin, at - begin);
        kind = Token::Kind::name;
        if (at < text.size() && (text[at] == '"' || text[at] == '\'') && is_string_prefix(word)) {
          kind = Token::Kind::string;
          if (!take_string(at, line)) return false;
        }
      } else if (c == '"' || c == '\'') {
        kind = Token::Kind::string;
        if (!take_string(at, line)) return false;
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
                 (c == '.' && at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0)) {
        kind = Token::Kind::number;
        while (at < text.size() &&
               (is_name_part(text[at]) || text[at] == '.' ||
                ((text[at] == '-' || text[at] == '+') && (text[at - 1] == 'e' || text[at - 1] == 'E')))) {
          ++at;
        }
      } else {
        const auto longer =
            std::ranges::find_if(kOperators, [&](std::string_view op) { return text.compare(at, op.size(), op) == 0; });
        at += longer == kOperators.end() ? 1 : longer->size();
        if (c == '(' || c == '[' || c == '{') brackets += c;
        if (c == ')' || c == ']' || c == '}') {
          const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
          if (brackets.empty() || brackets.back() != open) return false;
          brackets.pop_back();
        }
      }
      tokens_.push_back({kind, std::string_view(text).substr(begin, at - begin), begin_line, begin});
    }
  }
  if (!brackets.empty()) return false;
  end_statement(lines_.empty() ? 0 : lines() - 1, false);
  return true;
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
