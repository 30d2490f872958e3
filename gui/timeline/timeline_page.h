// The first page: the lanes, their grouping, a search, and the selected allocation.
#pragma once

#include "gui/timeline/timeline_view.h"
#include "gui/widgets/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QScrollArea;
class QSplitter;

namespace tapelens::gui {

class TimelinePage final : public Page {
  Q_OBJECT
 public:
  explicit TimelinePage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return tr("Timeline"); }
  QWidget* picture() override { return view_; }
  void paint_picture(QPainter& painter) override { view_->paint_on(painter); }
  void find() override;
  void take_focus() override { view_->setFocus(); }
  QByteArray save_state() const override;
  void restore_state(const QByteArray& state) override;

  TimelineView& timeline() { return *view_; }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  // Focus on the page goes to the lanes, which handle keys.
  void focusInEvent(QFocusEvent*) override { view_->setFocus(); }

 private:
  void follow();
  void follow_axis();
  void tell_found();
  void go_to_result(int by);

  Session& session_;
  TimelineView* view_;
  QComboBox *by_, *axis_;
  QLineEdit* search_;
  QLabel *found_, *hint_;
  QSplitter* splitter_;
};

}  // namespace tapelens::gui
