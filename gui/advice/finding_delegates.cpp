#include "gui/advice/finding_delegates.h"

#include "gui/models/findings_tree.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

QSize FindingDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QSize size = QStyledItemDelegate::sizeHint(option, index);
  size.setHeight(2 * option.fontMetrics.lineSpacing() + kGap);
  return size;
}

void FindingDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (!index.data(FindingsTree::is_small_role).toBool()) return;
  option->palette.setColor(QPalette::Text, theme().faint);
  option->palette.setColor(QPalette::HighlightedText, theme().faint);
}

void NumberDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  FindingDelegate::initStyleOption(option, index);
  const auto severity = static_cast<check::Severity>(index.data(FindingsTree::severity_role).toInt());
  const QColor color = theme().severity(severity);
  option->palette.setColor(QPalette::Text, color);
  option->palette.setColor(QPalette::HighlightedText, color);
  if (severity == check::Severity::error) option->text += QString::fromUtf8(" ▲");
  if (severity == check::Severity::warning) option->text += QString::fromUtf8(" △");
  if (theme().is_dark) option->palette.setColor(QPalette::Window, theme().faint.lighter(130));
}

}  // namespace tapelens::gui
