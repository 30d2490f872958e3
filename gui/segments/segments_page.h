// A map of the segments that a device's allocator has at one time: the place of each block, and the free gaps.
#pragma once

#include <QByteArray>
#include <memory>

#include "gui/models/session.h"
#include "gui/widgets/page.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;
class QSplitter;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace tapelens::gui {

class CategoryBar;
class MapView;
class SegmentsTable;
class SourcePane;

class SegmentsPage final : public Page {
  Q_OBJECT
 public:
  explicit SegmentsPage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return tr("Memory map"); }
  QAbstractItemModel* table() override;
  void find() override;
  void take_focus() override;
  QByteArray save_state() const override;
  void restore_state(const QByteArray& state) override;

  MapView& map() { return *map_; }

 protected:
  void focusInEvent(QFocusEvent*) override { take_focus(); }

 private:
  QWidget* make_top();
  QWidget* make_content();
  void follow(const ViewState& before);
  void show_moment();
  void show_allocation();
  void select(uint32_t allocation);
  QString why_nothing() const;

  Session& session_;
  std::shared_ptr<const MomentSet> moment_;
  SegmentsTable* table_;
  QSortFilterProxyModel* rows_;
  QLabel *headline_, *when_, *nothing_, *what_, *facts_;
  QPushButton* to_peak_;
  QLineEdit* filter_;
  CategoryBar* categories_;
  QStackedWidget* states_;
  MapView* map_;
  QTableView* view_;
  QSplitter *columns_, *under_;
  SourcePane* source_;
};

}  // namespace tapelens::gui
