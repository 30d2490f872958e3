// The peaks of all steps as bars; with many steps, a bar shows the largest peak of its pixel.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/steps_table.h"

namespace tapelens::gui {

class StepBars : public QWidget {
  Q_OBJECT
 public:
  explicit StepBars(const StepsTable& table, QWidget* parent = nullptr);

  void set_current(int row);  // -1: none
  int current() const { return current_; }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint() / 2; }

 Q_SIGNALS:
  void selected(int row);
  void activated(int row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Bar {
    int x0, x1;
    int row;   // step with its largest peak
    int last;  // last step; the first one follows the last of the previous bar
  };
  const std::vector<Bar>& bars() const;
  bool is_few() const;
  void paint_bytes(QPainter& painter) const;
  void paint_ends(QPainter& painter) const;  // the first and the last number
  int bar_at(double x) const;                // index into bars(); -1: none
  int bar_of(int row) const;
  QRect plot() const;
  QString tip(const Bar& bar, int first) const;

  const StepsTable& table_;
  mutable std::vector<Bar> bars_;
  mutable int width_ = -1;  // for which bars_ was computed
  int current_ = -1, hovered_ = -1;
};

}  // namespace tapelens::gui
