// Draws cells of the tree of findings that need more than the style's default.
#pragma once

#include <QStyledItemDelegate>

namespace tapelens::gui {

// Draws rows of two lines; dims values of almost no effect.
class FindingDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

// Draws an entry's number in the color of its severity, a mark for errors and warnings, and an outline around the
// checkbox. The style draws the checkbox in the window's color, which is invisible on a dark background.
class NumberDelegate final : public FindingDelegate {
 public:
  using FindingDelegate::FindingDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace tapelens::gui
