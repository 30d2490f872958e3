#include "gui/widgets/sparkline.h"

#include <QApplication>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

void SparklineDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);  // the background: selected, hovered
  const auto values = index.data(values_).value<QList<qint64>>();
  const double most = static_cast<double>(std::max<qint64>(1, index.data(most_).toLongLong()));
  const QRectF box = QRectF(option.rect).adjusted(kGap / 2, 3, -kGap / 2, -3);
  if (values.isEmpty() || box.width() <= 0 || box.height() <= 0) return;
  // Draws steps instead of slopes, because each value covers a span of time.
  const double width = box.width() / static_cast<double>(values.size());
  QPainterPath line;
  for (qsizetype i = 0; i < values.size(); ++i) {
    const double y = box.bottom() - box.height() * std::clamp(static_cast<double>(values[i]) / most, 0.0, 1.0);
    if (i == 0) {
      line.moveTo(box.left(), y);
    } else {
      line.lineTo(box.left() + width * static_cast<double>(i), y);
    }
    line.lineTo(box.left() + width * static_cast<double>(i + 1), y);
  }
  QPainterPath area = line;
  area.lineTo(box.right(), box.bottom());
  area.lineTo(box.left(), box.bottom());
  QColor ground = theme().accent;
  ground.setAlphaF(0.22F);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->fillPath(area, ground);
  painter->setPen(QPen(theme().accent, 1.2));
  painter->drawPath(line);
  painter->restore();
}

QSize SparklineDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {option.fontMetrics.averageCharWidth() * 20, option.fontMetrics.height() + kGap};
}

}  // namespace tapelens::gui
