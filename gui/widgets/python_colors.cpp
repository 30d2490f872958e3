#include <QRegularExpression>
#include <QTextCharFormat>

#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// A category's hue for strings and numbers, darkened or lightened until it is readable on the surface.
QColor readable(QColor color) {
  for (int i = 0; i < 40 && contrast(color, theme().surface) < 4.5; ++i)
    color = theme().is_dark ? color.lighter(108) : color.darker(108);
  return color;
}

enum State : int { code = 0, in_single = 1, in_double = 2 };  // in_single, in_double: within a triple-quoted string

}  // namespace

void PythonColors::highlightBlock(const QString& text) {
  static const QRegularExpression kToken(QStringLiteral(
      R"((?<comment>#.*)|(?<long>[rRbBfFuU]{0,2}(?:'''|"""))|(?<string>[rRbBfFuU]{0,2}(?:'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)))"
      R"(|(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\b))"
      R"(|(?<keyword>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|)"
      R"(global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b))"
      R"(|\w+)"));
  const QColor string = readable(theme().category(peak::HolderKind::op));
  const QColor number = readable(theme().category(peak::HolderKind::optimizer_state));
  const auto quotes = [](int state) { return state == in_single ? QStringLiteral("'''") : QStringLiteral("\"\"\""); };
  qsizetype at = 0;
  setCurrentBlockState(code);
  // Goes on to the end of the string, or of the block.
  const auto go_through = [&](int state, qsizetype begin, qsizetype from) {
    const qsizetype end = text.indexOf(quotes(state), from);
    at = end < 0 ? text.size() : end + 3;
    setFormat(static_cast<int>(begin), static_cast<int>(at - begin), string);
    if (end < 0) setCurrentBlockState(state);
  };
  if (previousBlockState() > code) go_through(previousBlockState(), 0, 0);
  while (at < text.size()) {
    const QRegularExpressionMatch match = kToken.match(text, at);
    if (!match.hasMatch()) break;
    const int begin = static_cast<int>(match.capturedStart()), length = static_cast<int>(match.capturedLength());
    at = match.capturedEnd();
    if (!match.captured(QStringLiteral("comment")).isEmpty()) {
      setFormat(begin, length, theme().faint);
    } else if (const QString open = match.captured(QStringLiteral("long")); !open.isEmpty()) {
      go_through(open.endsWith(QLatin1Char('"')) ? in_double : in_single, begin, at);
    } else if (!match.captured(QStringLiteral("string")).isEmpty()) {
      setFormat(begin, length, string);
    } else if (!match.captured(QStringLiteral("number")).isEmpty()) {
      setFormat(begin, length, number);
    } else if (!match.captured(QStringLiteral("keyword")).isEmpty()) {
      setFormat(begin, length, theme().accent);
    }
  }
}

}  // namespace tapelens::gui
