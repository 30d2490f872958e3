// The words of a filter, as typed: a text has to contain each of them, ignoring case. A word with a minus in front must
// not be in it: "-layer2" leaves out. A word in quotes is a whole name: "layer.1" is in Net.layer.1.fc, but not in
// Net.layer.10. It may contain spaces.
#pragma once

#include <QChar>
#include <QList>
#include <QString>
#include <string>

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
template <class Words>
bool has_word(const Words& text, const Words& word, bool is_whole) {
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
