// The allocations alive at one time, their holders, and the lines that made them.
#pragma once

#include <QByteArray>
#include <QTimer>

#include "gui/models/session.h"
#include "gui/widgets/page.h"

class QLabel;
class QPushButton;
class QSplitter;
class QStackedWidget;

namespace tapelens::gui {

class CategoryBar;
class GroupsView;
class PeakList;
class SourcePane;

class PeakPage : public Page {
  Q_OBJECT
 public:
  explicit PeakPage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Peak"); }
  QAbstractItemModel* table() override;
  void find() override;

  // Splitters, columns, groupings.
  QByteArray save_state() const override;
  void restore_state(const QByteArray& state) override;

 private:
  void lay_out();
  void follow(const ViewState& before);
  void show_moment();
  void show_groups();
  void restrict_table();
  void show_allocation();
  void select(uint32_t allocation);

  Session& session_;
  std::shared_ptr<const report::Peak> peak_;
  QTimer typed_;  // updates the groups and the session after a pause in typing
  QLabel* headline_;
  QPushButton* to_peak_;
  CategoryBar* categories_;
  QStackedWidget* pages_;
  QLabel* waiting_;
  QSplitter* columns_;
  QSplitter* rows_;
  GroupsView* groups_;
  PeakList* list_;
  QLabel* what_;
  QLabel* facts_;
  SourcePane* source_;
};

// "142.0 MiB on cpu at the peak, 2.975 s after the start, in the backward of step 1; 162 allocations"
QString headline_of(const report::Peak& peak, const QString& device, bool is_the_peak);

}  // namespace tapelens::gui
