// Draws a bar: a module's bytes by category, relative to the largest module.
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
  const ModuleTree& tree_;  // defines the columns
};

}  // namespace tapelens::gui
