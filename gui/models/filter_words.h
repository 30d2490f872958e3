// The words of a filter, as typed: a text has to contain each of them, ignoring case. A word with a minus in front must
// not be in it: "-layer2" leaves out. A word in quotes is a whole name: "layer.1" is in Net.layer.1.fc, but not in
// Net.layer.10. It may contain spaces, and numbers in braces, as text::equal_rows() writes them: "layer.{0,2-5}.fc" is
// in Net.layer.3.fc.
#pragma once

#include <QChar>
#include <QList>
#include <QString>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapelens::gui {

// Whether a text has a word at a place where no letter, digit or underscore is before and after it, or anywhere.
// Compares bytes or characters: both texts must be in lower case.
inline bool is_name_letter(QChar c) { return c.isLetterOrNumber() || c == QLatin1Char('_'); }
inline bool is_name_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || is_name_letter(QChar(byte));
}
inline qsizetype place_of(const QString& text, const QString& word, qsizetype from) { return text.indexOf(word, from); }
inline qsizetype place_of(const std::string& text, const std::string& word, qsizetype from) {
  const size_t at = text.find(word, static_cast<size_t>(from));
  return at == std::string::npos ? -1 : static_cast<qsizetype>(at);
}
inline char16_t code_of(QChar c) { return c.unicode(); }
inline char16_t code_of(char c) { return static_cast<unsigned char>(c); }

// A decimal number that begins at `at`, which is moved behind it. Numbers of ten digits and more are equal.
template <class Words>
std::optional<uint64_t> take_number(const Words& text, size_t& at) {
  constexpr uint64_t kMost = 1'000'000'000;
  const size_t begin = at;
  uint64_t number = 0;
  for (; at < static_cast<size_t>(text.size()); ++at) {
    const char16_t c = code_of(text[at]);
    if (c < u'0' || c > u'9') break;
    number = std::min(number * 10 + (c - u'0'), kMost);
  }
  return at > begin ? std::optional(number) : std::nullopt;
}

// The ranges of "{0,2-5}" at `at` of a word, which is moved behind them. Empty, without a move: none are there.
template <class Words>
std::vector<std::pair<uint64_t, uint64_t>> take_ranges(const Words& word, size_t& at) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  const auto is_at = [&](size_t place, char16_t c) {
    return place < static_cast<size_t>(word.size()) && code_of(word[place]) == c;
  };
  size_t place = at;
  do {
    ++place;  // the brace or the comma
    const auto first = take_number(word, place);
    auto last = first;
    if (is_at(place, u'-')) last = take_number(word, ++place);
    if (!first || !last) return {};
    ranges.emplace_back(*first, *last);
  } while (is_at(place, u','));
  if (!is_at(place, u'}')) return {};
  at = place + 1;
  return ranges;
}

// The end of a word with numbers in braces that begins at `from` of a text; -1: another text is there.
template <class Words>
qsizetype end_of_word(const Words& text, const Words& word, size_t from) {
  for (size_t at = 0; at < static_cast<size_t>(word.size());) {
    if (code_of(word[at]) == u'{') {
      if (const auto ranges = take_ranges(word, at); !ranges.empty()) {
        const auto number = take_number(text, from);
        const auto has = [&](const auto& range) { return range.first <= *number && *number <= range.second; };
        if (!number || std::ranges::none_of(ranges, has)) return -1;
        continue;
      }
    }
    if (from == static_cast<size_t>(text.size()) || text[from++] != word[at++]) return -1;
  }
  return static_cast<qsizetype>(from);
}

// Whether a text has a whole word with numbers in braces.
template <class Words>
bool has_numbered_word(const Words& text, const Words& word) {
  for (size_t from = 0; from < static_cast<size_t>(text.size()); ++from) {
    if (from > 0 && is_name_letter(text[from - 1])) continue;
    const qsizetype end = end_of_word(text, word, from);
    if (end >= 0 && (end == static_cast<qsizetype>(text.size()) || !is_name_letter(text[static_cast<size_t>(end)])))
      return true;
  }
  return false;
}

template <class Words>
bool has_word(const Words& text, const Words& word, bool is_whole) {
  const Words brace(1, '{');
  if (is_whole && place_of(word, brace, 0) >= 0 && has_numbered_word(text, word)) return true;
  const auto size = static_cast<qsizetype>(text.size()), length = static_cast<qsizetype>(word.size());
  for (qsizetype from = 0; from + length <= size; ++from) {
    from = place_of(text, word, from);
    if (from < 0) return false;
    if (!is_whole) return true;
    const bool begins = from == 0 || !is_name_letter(text[static_cast<size_t>(from - 1)]);
    const bool ends = from + length == size || !is_name_letter(text[static_cast<size_t>(from + length)]);
    if (begins && ends) return true;
  }
  return false;
}

struct FilterWord {
  QString text;
  bool is_whole = false;

  bool is_in(const QString& other) const {
    return is_whole ? has_word(other.toLower(), text.toLower(), true) : other.contains(text, Qt::CaseInsensitive);
  }
  // As typed.
  QString typed() const { return is_whole ? QLatin1Char('"') + text + QLatin1Char('"') : text; }
  friend bool operator==(const FilterWord&, const FilterWord&) = default;
};

struct FilterWords {
  QList<FilterWord> wanted, left_out;

  FilterWords() = default;
  explicit FilterWords(const QString& filter) {
    const QChar quote = QLatin1Char('"'), space = QLatin1Char(' ');
    for (qsizetype at = 0; at < filter.size();) {
      if (filter[at] == space) {
        ++at;
        continue;
      }
      const bool is_minus = filter[at] == QLatin1Char('-') && at + 1 < filter.size() && filter[at + 1] != space;
      if (is_minus) ++at;
      const qsizetype closing = filter[at] == quote ? filter.indexOf(quote, at + 1) : -1;
      const bool is_whole = closing > at + 1;
      qsizetype end = is_whole ? closing : filter.indexOf(space, at);
      if (end < 0) end = filter.size();
      (is_minus ? left_out : wanted)
          .append({filter.mid(is_whole ? at + 1 : at, end - (is_whole ? at + 1 : at)), is_whole});
      at = is_whole ? end + 1 : end;
    }
  }
  friend bool operator==(const FilterWords&, const FilterWords&) = default;
};

}  // namespace tapelens::gui
