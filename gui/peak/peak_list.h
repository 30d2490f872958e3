// The allocations at one time as a table with a filter.
#pragma once

#include <QTimer>
#include <QWidget>
#include <memory>

#include "gui/models/peak_table.h"

class QLabel;
class QLineEdit;
class QTableView;
class QToolButton;

namespace tapelens::gui {

class FoldedRows;
class Session;

class PeakList : public QWidget {
  Q_OBJECT
 public:
  explicit PeakList(QWidget* parent = nullptr);

  // The context menu of the rows. The session outlives the list.
  void add_menu(Session& session);
  void show_peak(std::shared_ptr<const report::Peak> peak);
  const PeakTable& table() const { return *table_; }
  // All rows that the filter keeps. The view shows them with equal ones folded.
  const PeakRows& rows() const { return *rows_; }
  PeakRows& rows() { return *rows_; }
  // Shows only the rows of a group, with its name; an empty name: all rows.
  void restrict_to(const QString& name, std::vector<bool> shown);
  void set_filter(const QString& filter);
  QString filter() const;
  // Selects an allocation and scrolls to it; 0 or a hidden allocation clears the selection. `opens`: opens its group,
  // if the row of the group is not its own; else that row is selected.
  void select(uint32_t allocation, bool opens = true);
  uint32_t first() const;  // the allocation of the first shown row; 0: none is shown
  void focus_filter();

  QByteArray save_columns() const;
  void restore_columns(const QByteArray& state);

 Q_SIGNALS:
  void filterTyped(const QString& filter);
  void selected(uint32_t allocation);
  void timelineWanted(uint32_t allocation);
  void restrictionLifted();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void count();
  void prepare();
  uint32_t current() const;
  bool open_group(const QModelIndex& at, bool is_open);

  PeakTable* table_;
  PeakRows* rows_;
  FoldedRows* folded_;
  QLineEdit* filter_;
  QToolButton* group_;
  QLabel* count_;
  QLabel* nothing_;
  QTableView* view_;
  uint32_t selected_ = 0;
  QTimer idle_;  // computes all rows' texts before the first letter of a filter
  int prepared_ = 0;
};

}  // namespace tapelens::gui
