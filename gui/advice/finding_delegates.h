// How cells of the tree of findings are drawn where the style's own way does not do.
#pragma once

#include <QStyledItemDelegate>

namespace tapelens::gui {

// Rows of two lines; what changes next to nothing steps back.
class FindingDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

// An entry's number in the colour of its severity, errors and warnings with a mark, and its box with an outline that is
// seen on a dark ground too: the style makes it of the window's colour.
class NumberDelegate final : public FindingDelegate {
 public:
  using FindingDelegate::FindingDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace tapelens::gui
