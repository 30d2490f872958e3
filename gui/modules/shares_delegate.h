// A cell with a bar: how a module's bytes are shared out among the categories, as long as they are of the largest
// one's.
#pragma once

#include <QStyledItemDelegate>

#include "gui/models/module_tree.h"

namespace tapelens::gui {

class SharesDelegate : public QStyledItemDelegate {
 public:
  explicit SharesDelegate(const ModuleTree& tree, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), tree_(tree) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const ModuleTree& tree_;  // what its columns are
};

}  // namespace tapelens::gui
