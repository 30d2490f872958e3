// The memory as it was recorded, and over it the memory without what is ticked.
#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/models/session.h"

namespace tapelens::gui {

class ReductionCurve : public QWidget {
  Q_OBJECT
 public:
  explicit ReductionCurve(Session& session, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  // What is drawn, in pixels of the device; made anew when the size or the subject is another.
  void find_columns();
  // Without the time before and after in which next to nothing is alive: that of imports, and of the end.
  Interval busy() const;
  QRectF plot() const;
  double y_of(Bytes bytes) const;
  void paint_axes(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;
  void paint_peak(QPainter& painter, Time when, Bytes bytes, const QColor& color, bool is_below) const;
  double x_of(Time time) const;
  QPolygonF line_of(const std::vector<Bytes>& columns) const;
  void describe();

  Session& session_;
  std::vector<Bytes> recorded_, without_;
  Interval shown_;
  Bytes top_;  // of the axis
};

}  // namespace tapelens::gui
