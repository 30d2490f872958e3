// The memory of two recordings on one axis of steps: A as a filled area, B as a line.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

#include "gui/models/other.h"

namespace tapelens::gui {

class StepsCurve : public QWidget {
  Q_OBJECT
 public:
  StepsCurve(Session& session, Other& other, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void stepClicked(uint32_t step);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool has_both() const { return session_.document() != nullptr && other_.document() != nullptr; }
  uint32_t steps() const;   // number of steps of the longer recording
  uint32_t common() const;  // number of steps in both
  QRectF plot() const;
  double x_of(double step) const;
  double y_of(int64_t bytes) const;
  void find_columns();
  void paint_axes(QPainter& painter) const;
  void paint_peak(QPainter& painter, const Subject& subject, const ComparedMoment& moment, const QColor& color,
                  const QString& letter) const;
  void paint_legend(QPainter& painter) const;

  Session& session_;
  Other& other_;
  std::vector<int64_t> a_, b_;
  int64_t top_ = 1;
};

}  // namespace tapelens::gui
