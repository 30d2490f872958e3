#include "gui/widgets/table_header.h"

#include <QPainter>
#include <QStyleOptionHeader>
#include <QTableView>

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

}  // namespace tapelens::gui
