#include "gui/models/visible_text.h"

#include <QTextDocument>

#include "analyzer/text/escape.h"

namespace tapelens::gui {

QString visible(std::string_view utf8) { return QString::fromStdString(text::printable(utf8)); }

QString visible_lines(std::string_view utf8) { return QString::fromStdString(text::printable_lines(utf8)); }

QString plain_tip(const QString& text) {
  if (!Qt::mightBeRichText(text)) return text;
  return QStringLiteral("<qt>%1</qt>").arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")));
}

}  // namespace tapelens::gui
