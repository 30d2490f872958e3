#include "gui/advice/finding_delegates.h"

#include "gui/models/findings_table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

void SeverityDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const QColor color = theme().severity(static_cast<check::Severity>(index.data(FindingsTable::sort_role).toInt()));
  option->palette.setColor(QPalette::Text, color);
  option->palette.setColor(QPalette::HighlightedText, color);
}

void TickDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (theme().is_dark) option->palette.setColor(QPalette::Window, theme().faint.lighter(130));
}

QString ReductionDelegate::displayText(const QVariant& value, const QLocale&) const {
  return value.toString().replace(" with others", QStringLiteral(" with\u00a0others"));
}

}  // namespace tapelens::gui
