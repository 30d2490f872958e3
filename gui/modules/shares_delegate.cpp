#include "gui/modules/shares_delegate.h"

#include <QPainter>
#include <algorithm>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

void SharesDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);  // the background: selected, hovered
  const auto parts = index.data(ModuleTree::parts_role).value<QList<qint64>>();
  const double most = static_cast<double>(std::max<qint64>(1, index.data(ModuleTree::most_role).toLongLong()));
  const QRectF box = QRectF(option.rect).adjusted(kGap / 2, 4, -kGap / 2, -4);
  if (box.width() <= 0 || box.height() <= 0) return;
  qint64 before = 0;
  for (qsizetype part = 0; part < parts.size(); ++part) {
    const double from = box.width() * static_cast<double>(before) / most;
    before += parts[part];
    const double to = box.width() * static_cast<double>(before) / most;
    if (to > from)
      painter->fillRect(QRectF(box.left() + from, box.top(), to - from, box.height()),
                        theme().category(tree_.kinds_shown()[static_cast<size_t>(part)]));
  }
}

}  // namespace tapelens::gui
