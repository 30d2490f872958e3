// How cells of the table of findings are drawn where the style's own way does not do.
#pragma once

#include <QStyledItemDelegate>

namespace tapelens::gui {

// Severities in their colour.
class SeverityDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

// Boxes with an outline that is seen on a dark ground too: the style makes it of the window's colour.
class TickDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

// "280.0 KiB with others" breaks behind the number.
class ReductionDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QString displayText(const QVariant& value, const QLocale& locale) const override;
};

}  // namespace tapelens::gui
