// Draws a curve in a cell: the values of a role as a filled line.
#pragma once

#include <QStyledItemDelegate>

namespace tapelens::gui {

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
