#include "gui/widgets/table.h"

#include <QApplication>
#include <QPainter>
#include <QPainterPath>
#include <QStyleOptionHeader>
#include <QTableView>
#include <algorithm>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

TableHeader::TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  // The settings that QTableView applies to its own header.
  setSectionsClickable(true);
  setHighlightSections(false);
}

void TableHeader::initStyleOptionForIndex(QStyleOptionHeader* option, int section) const {
  QHeaderView::initStyleOptionForIndex(option, section);
  option->sortIndicator = QStyleOptionHeader::None;
}

// Reserves no width for a mark beside the title.
QSize TableHeader::sectionSizeFromContents(int section) const {
  if (model() == nullptr) return QHeaderView::sectionSizeFromContents(section);
  QStyleOptionHeader option;
  initStyleOption(&option);
  option.section = section;
  option.text = model()->headerData(section, orientation()).toString();
  return style()->sizeFromContents(QStyle::CT_HeaderSection, &option, {}, this);
}

void TableHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  painter->save();
  QHeaderView::paintSection(painter, rect, section);
  painter->restore();
  if (!isSortIndicatorShown() || sortIndicatorSection() != section) return;
  const int half = fontMetrics().height() / 4, height = half;
  const int x = rect.center().x(), top = rect.top() + 2;
  const bool is_up = sortIndicatorOrder() == Qt::AscendingOrder;
  const QPoint corners[] = {
      {x - half, is_up ? top + height : top}, {x + half, is_up ? top + height : top}, {x, is_up ? top : top + height}};
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(Qt::NoPen);
  painter->setBrush(theme().accent);
  painter->drawPolygon(corners, 3);
  painter->restore();
}

void set_up_table(QTableView& view, QAbstractItemModel& rows, const QString& name, int row_height) {
  view.setModel(&rows);
  view.setHorizontalHeader(new TableHeader(&view));
  view.setAccessibleName(name);
  view.setSelectionBehavior(QAbstractItemView::SelectRows);
  view.setSelectionMode(QAbstractItemView::SingleSelection);
  view.setShowGrid(false);
  view.setWordWrap(false);
  view.setTabKeyNavigation(false);
  view.setSortingEnabled(true);
  view.setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view.verticalHeader()->hide();
  view.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  view.verticalHeader()->setDefaultSectionSize(row_height);
  view.horizontalHeader()->setStretchLastSection(true);
}

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
