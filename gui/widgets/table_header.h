// A table's header with the sort mark above the title. Beside it, the mark would cover the end of a right-aligned
// title.
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

// The common setup of tables: selects single rows and sorts on a click on a title. The row height is in pixels.
void set_up_table(QTableView& view, QAbstractItemModel& rows, const QString& name, int row_height);

}  // namespace tapelens::gui
