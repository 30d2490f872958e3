// A table's header with the mark of the sorted column above its title: beside it, it would lie on the end of a title
// that is aligned to the right.
#pragma once

#include <QHeaderView>

class QAbstractItemModel;
class QTableView;

namespace tapelens::gui {

class TableHeader : public QHeaderView {
 public:
  explicit TableHeader(QWidget* parent = nullptr);

 protected:
  void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override;
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  QSize sectionSizeFromContents(int section) const override;
};

// What the tables of all pages have in common: rows are chosen one at a time and sorted by a click on a title. Height
// of a row in pixels.
void set_up_table(QTableView& view, QAbstractItemModel& rows, const QString& name, int row_height);

}  // namespace tapelens::gui
