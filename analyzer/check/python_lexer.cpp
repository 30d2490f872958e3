#include "analyzer/check/python_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tapelens::check {

namespace {

constexpr int kDeepest = 100;  // strings in fields of strings; Python has 150

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }
bool is_quote(char c) { return c == '"' || c == '\''; }

bool is_string_prefix(std::string_view word) {
  constexpr std::array<std::string_view, 11> kPrefixes = {"r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt"};
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kPrefixes, lower) != kPrefixes.end();
}

constexpr std::array<std::string_view, 24> kOperators = {
    "**=", "//=", "<<=", ">>=", "...", "!=", "==", "<=", ">=", "->", "+=", "-=",
    "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", ":=", "**", "//", "<<", ">>"};
constexpr std::string_view kShortOperators = "()[]{}.,:;@=+-*/%&|^~<>!";

}  // namespace

struct PythonLexer::Literal {
  char quote;
  size_t quotes;  // 1 or 3
  bool is_raw;
  bool has_fields;
};

PythonLexer::Found PythonLexer::next(Token& token) {
  for (;;) {
    if (!take_blank()) return Found::error;
    if (at_ == text_.size()) return brackets_.empty() ? Found::end : Found::error;
    if (text_[at_] != '\n') break;
    ++at_;
    ++line_;
    if (brackets_.empty()) return Found::newline;
  }
  token = {Token::Kind::op, {}, line_, at_};
  // A single "!" occurs only in the fields of strings.
  if (!take_token(token.kind, brackets_, 0)) return Found::error;
  token.text = text_.substr(token.offset, at_ - token.offset);
  return token.text == "!" ? Found::error : Found::token;
}

// Skips white space, comments and line continuations. False: a backslash or a carriage return without a line break.
bool PythonLexer::take_blank() {
  for (; at_ < text_.size(); ++at_) {
    switch (text_[at_]) {
      case ' ':
      case '\t':
      case '\f':
        break;
      case '\r':
        if (peek(1) != '\n') return false;
        break;
      case '#':
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
        break;
      case '\\':
        at_ += peek(1) == '\r' ? 2 : 1;
        if (peek() != '\n') return false;
        ++line_;
        break;
      default:
        return true;
    }
  }
  return true;
}

bool PythonLexer::take_token(Token::Kind& kind, std::string& brackets, int depth) {
  const char c = text_[at_];
  if (is_quote(c)) {
    kind = Token::Kind::string;
    return take_string({}, depth);
  }
  if (is_name_start(c)) {
    const size_t begin = at_;
    while (is_name_part(peek())) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool is_prefix = is_quote(peek()) && is_string_prefix(word);
    kind = is_prefix ? Token::Kind::string : Token::Kind::name;
    return !is_prefix || take_string(word, depth);
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
    kind = Token::Kind::number;
    take_number();
    return true;
  }
  kind = Token::Kind::op;
  return take_operator(brackets);
}

// "1_000", ".5e-3j", "0xff". A name may follow without a space: "1if x else 2".
void PythonLexer::take_number() {
  const auto take_digits = [&] {
    while (is_digit(peek()) || peek() == '_') ++at_;
  };
  const char base = peek() == '0' ? static_cast<char>(std::tolower(static_cast<unsigned char>(peek(1)))) : '\0';
  if (base == 'x' || base == 'o' || base == 'b') {
    at_ += 2;
    while (peek() == '_' || is_digit(peek()) ||
           (base == 'x' && std::isxdigit(static_cast<unsigned char>(peek())) != 0)) {
      ++at_;
    }
    return;
  }
  take_digits();
  if (peek() == '.') {
    ++at_;
    take_digits();
  }
  if (peek() == 'e' || peek() == 'E') {
    const size_t sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
    if (is_digit(peek(1 + sign))) {
      at_ += 1 + sign;
      take_digits();
    }
  }
  if (peek() == 'j' || peek() == 'J') ++at_;
}

bool PythonLexer::take_operator(std::string& brackets) {
  const std::string_view rest = text_.substr(at_);
  const auto longer = std::ranges::find_if(kOperators, [&](std::string_view op) { return rest.starts_with(op); });
  if (longer != kOperators.end()) {
    at_ += longer->size();
    return true;
  }
  const char c = rest.front();
  if (kShortOperators.find(c) == std::string_view::npos || (c == ';' && !brackets.empty())) return false;
  if (c == '(' || c == '[' || c == '{') brackets += c;
  if (c == ')' || c == ']' || c == '}') {
    const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (brackets.empty() || brackets.back() != open) return false;
    brackets.pop_back();
  }
  ++at_;
  return true;
}

// From the first quote to the end of the last one.
bool PythonLexer::take_string(std::string_view prefix, int depth) {
  if (depth > kDeepest) return false;
  const char quote = text_[at_];
  const size_t quotes = peek(1) == quote && peek(2) == quote ? 3 : 1;
  at_ += quotes;
  return take_text({quote, quotes, prefix.find_first_of("rR") != std::string_view::npos,
                    prefix.find_first_of("fFtT") != std::string_view::npos},
                   false, depth);
}

// A backslash and its next character, also a line break.
bool PythonLexer::take_escape() {
  ++at_;
  if (peek() == '\r' && peek(1) == '\n') ++at_;
  if (at_ == text_.size()) return false;
  if (text_[at_] == '\n') ++line_;
  ++at_;
  return true;
}

// The text of a string up to the end of its quotes, or a format specification up to the end of the brace that closes
// its field.
bool PythonLexer::take_text(const Literal& literal, bool is_format_spec, int depth) {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool is_brace = literal.has_fields && (c == '{' || c == '}');
    // A backslash does not escape a brace.
    const bool escapes_nothing = literal.has_fields && (peek(1) == '{' || peek(1) == '}');
    if (c == literal.quote && (literal.quotes == 1 || (peek(1) == c && peek(2) == c))) {
      at_ += literal.quotes;
      return !is_format_spec;
    }
    if (c == '\n') {
      if (literal.quotes == 1) return false;
      ++line_;
      ++at_;
    } else if (c == '\\' && literal.has_fields && !literal.is_raw && peek(1) == 'N' && peek(2) == '{') {
      at_ = text_.find_first_of("}\n\"'", at_);  // "\N{BULLET}" is not a field
      if (peek() != '}') return false;
      ++at_;
    } else if (c == '\\' && !escapes_nothing) {
      if (!take_escape()) return false;
    } else if (is_brace && !is_format_spec && peek(1) == c) {
      at_ += 2;
    } else if (is_brace && c == '{') {
      ++at_;
      if (!take_field(literal, depth + 1)) return false;
    } else if (is_brace) {
      ++at_;
      return is_format_spec;
    } else {
      ++at_;
    }
  }
  return false;
}

// A field of a string, from the end of its opening brace to the end of its closing brace.
bool PythonLexer::take_field(const Literal& literal, int depth) {
  if (depth > kDeepest) return false;
  std::string brackets;
  for (;;) {
    if (!take_blank() || at_ == text_.size()) return false;
    const char c = text_[at_];
    Token::Kind kind{};
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (brackets.empty() && c == '}') {
      ++at_;
      return true;
    } else if (brackets.empty() && c == ':') {
      ++at_;
      return take_text(literal, true, depth);
    } else if (!take_token(kind, brackets, depth)) {
      return false;
    }
  }
}

}  // namespace tapelens::check
