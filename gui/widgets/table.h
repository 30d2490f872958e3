// Tables of the window: their header, a curve in a cell, and their text.
#pragma once

#include <QHeaderView>
#include <QString>
#include <QStyledItemDelegate>

class QAbstractItemModel;
class QModelIndex;
class QTableView;

namespace tapelens::gui {

// A header with the sort mark above the title. Beside it, the mark would cover the end of a right-aligned title.
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

// ---- tables as text, to paste or to save

// A row as shown, with tabs between the columns, as spreadsheets paste it.
QString row_text(const QModelIndex& row);
QString row_text(const QAbstractItemModel& table, int row);
// All rows in that format, with a header.
QString pasted_text(const QAbstractItemModel& table);
// The whole table as RFC 4180 CSV, with a header. Uses raw numbers (Qt::EditRole) if the table has them, for programs.
QString csv_text(const QAbstractItemModel& table);

// Draws a curve in a cell: the values of a role as a filled line.
class SparklineDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  // `values`: a role with a QList<qint64>; `most`: a role with the common maximum, so that rows are comparable.
  SparklineDelegate(int values, int most, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), values_(values), most_(most) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  int values_, most_;
};

}  // namespace tapelens::gui
