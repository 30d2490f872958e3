// The words of a filter, as typed: a text has to contain each of them, ignoring case. A word with a minus in front must
// not be in it: "-layer2" leaves out.
#pragma once

#include <QString>
#include <QStringList>

namespace tapelens::gui {

struct FilterWords {
  QStringList wanted, left_out;

  FilterWords() = default;
  explicit FilterWords(const QString& filter) {
    for (const QString& word : filter.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
      if (word.size() > 1 && word.startsWith(QLatin1Char('-'))) {
        left_out << word.mid(1);
      } else {
        wanted << word;
      }
    }
  }
  friend bool operator==(const FilterWords&, const FilterWords&) = default;
};

}  // namespace tapelens::gui
