// See escape.h.
#include "analyzer/text/escape.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "trace/utf8.h"

namespace tapelens::text {

namespace {

uint32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<uint8_t>(sequence[0]);
  uint32_t value = static_cast<uint8_t>(sequence[0]) & (0xffU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) value = value << 6 | (static_cast<uint8_t>(c) & 0x3fU);
  return value;
}

// Control characters, direction marks of text, line separators, and characters without width.
bool is_unseen(uint32_t point) {
  struct Run {
    uint32_t first, last;
  };
  static constexpr std::array<Run, 11> kUnseen = {{{0, 0x1f},
                                                   {0x7f, 0x9f},
                                                   {0xad, 0xad},
                                                   {0x61c, 0x61c},
                                                   {0x180e, 0x180e},
                                                   {0x200b, 0x200f},
                                                   {0x2028, 0x202e},
                                                   {0x2060, 0x206f},
                                                   {0xfeff, 0xfeff},
                                                   {0xfff9, 0xfffb},
                                                   {0xe0000, 0xe007f}}};
  return std::ranges::any_of(kUnseen, [point](Run run) { return run.first <= point && point <= run.last; });
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

// Splits text that GitHub turns into links even if it is escaped: addresses, mentions, numbers of issues.
constexpr std::string_view kApart = "<!-- -->";

// Calls seen(sequence), unseen(code point) or broken(byte) for each part of the text.
template <class Seen, class Unseen, class Broken>
void walk(std::string_view text, Seen seen, Unseen unseen, Broken broken) {
  while (!text.empty()) {
    const size_t length = trace::sequence_length(text);
    if (length == 0) {
      broken(static_cast<uint8_t>(text[0]));
    } else if (const uint32_t point = code_point(text.substr(0, length)); is_unseen(point)) {
      unseen(point);
    } else {
      seen(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

void add_xml(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  walk(
      text, [&](std::string_view sequence) { out += sequence; },
      [&](uint32_t point) {
        if (point == '\t') {
          out += '\t';
        } else if (point == '\n') {
          out += "\\n";
        } else {
          out += point < 0x80 ? formatted("\\x%02x", point) : formatted("\\u%04x", point);
        }
      },
      [&](uint8_t byte) { out += formatted("\\x%02x", unsigned{byte}); });
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string printable_json(std::string_view document) {
  std::string out;
  out.reserve(document.size());
  walk(
      document, [&](std::string_view sequence) { out += sequence; },
      [&](uint32_t point) {
        if (point < 0x20) {
          out += static_cast<char>(point);  // between values; the strings are escaped already
        } else if (point < 0x10000) {
          out += formatted("\\u%04x", point);
        } else {
          out += formatted("\\u%04x", 0xd800 + ((point - 0x10000) >> 10));
          out += formatted("\\u%04x", 0xdc00 + ((point - 0x10000) & 0x3ff));
        }
      },
      [&](uint8_t) { out += "\\ufffd"; });
  return out;
}

std::string script_json(std::string_view document) {
  std::string out;
  for (const char c : printable_json(document)) {
    if (c == '<' || c == '>' || c == '&') {
      out += formatted("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string cell(std::string_view text) {
  static constexpr std::string_view kActs = "\\`*_[<|~$";
  const std::string seen = printable(text);
  std::string out;
  for (size_t i = 0; i < seen.size(); ++i) {
    const char c = seen[i];
    const bool is_www =
        c == '.' && i >= 3 &&
        (std::string_view(seen).substr(i - 3, 3) == "www" || std::string_view(seen).substr(i - 3, 3) == "WWW");
    if (is_www) out += kApart;
    if (kActs.find(c) != std::string_view::npos) out += '\\';
    out += c;
    const bool is_address = c == ':' && std::string_view(seen).substr(i + 1, 2) == "//";
    if (c == '@' || c == '#' || is_address) out += kApart;
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) add_xml(out, c);
  return out;
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\'') {
      out += "&#39;";
      continue;
    }
    add_xml(out, c);
    if (c == '@' || c == '#') out += kApart;
  }
  return out;
}

std::string code(std::string_view text) {
  if (text.empty()) return "";
  std::string out = "`";
  for (const char c : printable(text)) {
    if (c == '|') out += '\\';
    out += c == '`' ? '\'' : c;
  }
  return out + "`";
}

std::string code_block(std::string_view language, std::string_view text) {
  const std::string inside = printable_lines(text);
  size_t longest = 2, run = 0;
  for (const char c : inside) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  return fence + std::string(language) + "\n" + inside + fence + "\n";
}

std::string shell_quote(std::string_view word) {
  static constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_quote(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_quote(word);
  }
  return line;
}

}  // namespace tapelens::text
