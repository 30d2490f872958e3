// The training steps: the memory of each, and outliers.
#pragma once

#include <QStyledItemDelegate>

#include "gui/models/session.h"
#include "gui/models/steps_table.h"
#include "gui/widgets/page.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QTableView;

namespace tapelens::gui {

class StepBars;

// Draws a tinted background and a mark before the text of outliers.
class OutstandingDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

class StepsPage : public Page {
  Q_OBJECT
 public:
  explicit StepsPage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Steps"); }
  QAbstractItemModel* table() override { return rows_; }
  void find() override;

 protected:
  void showEvent(QShowEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void lay_out();
  void paint_box();
  void forget();      // for another subject
  void show_steps();  // unless they are already shown, or the page is hidden
  void show_growing();
  void show_current();
  void filter();
  void select(int row);
  void zoom(int row);
  int current_row() const;

  Session& session_;
  StepsTable* table_;
  StepsRows* rows_;
  QLabel* headline_;
  QLabel* growing_;  // link to the finding that is kept from step to step
  StepBars* bars_;
  QLineEdit* filter_;
  QCheckBox* only_;
  QTableView* view_;
  QLabel* nothing_;
  bool is_stale_ = true;
};

}  // namespace tapelens::gui
