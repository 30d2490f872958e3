// The live bytes of a followed process over time, stacked by category.
#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/live.h"

namespace tapelens::gui {

class LiveCurve : public QWidget {
  Q_OBJECT
 public:
  explicit LiveCurve(QWidget* parent = nullptr);

  void show_figures(std::shared_ptr<const LiveFigures> figures);

  QSize sizeHint() const override { return {600, 220}; }
  QSize minimumSizeHint() const override { return {200, 100}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paint_scale(QPainter& painter, const QRect& area, int64_t top) const;
  std::shared_ptr<const LiveFigures> figures_;
};

}  // namespace tapelens::gui
