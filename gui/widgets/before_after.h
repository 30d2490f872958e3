// The recorded memory of a device over time, and over it the memory without some findings; for a widget and for a card.
#pragma once

#include <QPainter>
#include <QPolygonF>
#include <optional>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/whatif.h"

namespace tapelens::gui {

class BeforeAfter {
 public:
  // Cuts the time at both ends in which almost no memory is alive: imports, and the end of the run.
  BeforeAfter(const Subject& subject, Time duration, const WhatIfResult* without, int columns);

  // Paints the curves into `area`. Axes and the legend, in the painter's font, go around it; see margins(). `words`
  // name the second curve.
  void paint(QPainter& painter, const QRectF& area, const QString& words) const;
  static QMarginsF margins(const QFontMetrics& metrics);

  int columns() const { return static_cast<int>(recorded_.size()); }
  // At a share of the width, from 0 to 1.
  Time time_at(double share) const;
  Bytes recorded_at(double share) const;
  std::optional<Bytes> without_at(double share) const;

 private:
  struct Peak {
    Time when;
    Bytes bytes;
  };
  static Interval busy(const Subject& subject, Time duration);
  size_t column_at(double share) const;
  double x_of(const QRectF& area, Time when) const;
  double y_of(const QRectF& area, Bytes value) const;
  QPolygonF line_of(const QRectF& area, const std::vector<Bytes>& columns) const;
  void paint_axes(QPainter& painter, const QRectF& area) const;
  void paint_legend(QPainter& painter, const QRectF& area, const QString& words) const;
  void paint_peak(QPainter& painter, const QRectF& area, const Peak& peak, const QColor& color, bool is_below) const;

  std::vector<Bytes> recorded_, without_;  // without_: empty without a second curve
  Interval shown_;
  Bytes top_;  // top of the axis
  Peak before_;
  std::optional<Peak> after_;
};

}  // namespace tapelens::gui
