#include "gui/widgets/before_after.h"

#include <QObject>
#include <QPainterPath>
#include <algorithm>

#include "analyzer/text/format.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

QString bytes(Bytes value) { return QString::fromStdString(text::bytes_text(value)); }
QString time(Time value) { return QString::fromStdString(text::time_text(value)); }

}  // namespace

BeforeAfter::BeforeAfter(const Subject& subject, Time duration, const WhatIfResult* without, int columns)
    : shown_(busy(subject, duration)),
      top_(subject.device.peak),
      before_{subject.device.when.time, subject.device.peak} {
  const picture::TimeAxis axis{shown_, columns};
  picture::most_columns(subject.timeline, axis, recorded_);
  if (without == nullptr) return;
  without->curve.columns(subject.timeline, axis, without_);
  after_ = Peak{without->when, without->after};
  top_ = std::max(top_, without->after);
}

QMarginsF BeforeAfter::margins(const QFontMetrics& metrics) {
  return {static_cast<qreal>(metrics.horizontalAdvance("1023.9 MiB") + kGap),
          static_cast<qreal>(metrics.height() + kGap), kGap, metrics.height() + kGap / 2.0};
}

Interval BeforeAfter::busy(const Subject& subject, Time duration) {
  constexpr int kLooked = 4096;
  constexpr int64_t kShare = 50;  // a fiftieth of the peak counts as almost nothing
  const Interval whole{Time{0}, std::max(duration, Time{1})};
  const picture::TimeAxis axis{whole, kLooked};
  std::vector<Bytes> columns;
  picture::most_columns(subject.timeline, axis, columns);
  const auto is_busy = [&](Bytes most) { return most.value * kShare > subject.device.peak.value; };
  const auto first = std::ranges::find_if(columns, is_busy);
  const auto last = std::ranges::find_if(columns.rbegin(), columns.rend(), is_busy);
  if (first == columns.end()) return whole;
  const auto begin = static_cast<double>(first - columns.begin()), end = static_cast<double>(columns.rend() - last);
  const double around = (end - begin) / 30 + 1;
  return {std::max(axis.time_of(begin - around), whole.begin), std::min(axis.time_of(end + around), whole.end)};
}

size_t BeforeAfter::column_at(double share) const {
  return std::min(static_cast<size_t>(share * static_cast<double>(recorded_.size())), recorded_.size() - 1);
}

Time BeforeAfter::time_at(double share) const { return picture::TimeAxis{shown_, 1}.time_of(share); }
Bytes BeforeAfter::recorded_at(double share) const { return recorded_[column_at(share)]; }
std::optional<Bytes> BeforeAfter::without_at(double share) const {
  return without_.empty() ? std::nullopt : std::optional(without_[column_at(share)]);
}

double BeforeAfter::x_of(const QRectF& area, Time when) const {
  return area.left() + picture::TimeAxis{shown_, static_cast<int>(area.width())}.x_of(when);
}

double BeforeAfter::y_of(const QRectF& area, Bytes value) const {
  return area.bottom() -
         area.height() * static_cast<double>(value.value) / static_cast<double>(std::max<int64_t>(top_.value, 1));
}

QPolygonF BeforeAfter::line_of(const QRectF& area, const std::vector<Bytes>& columns) const {
  const double step = area.width() / static_cast<double>(columns.size());
  QPolygonF line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const double y = y_of(area, columns[i]);
    line << QPointF(area.left() + step * static_cast<double>(i), y)
         << QPointF(area.left() + step * static_cast<double>(i + 1), y);
  }
  return line;
}

void BeforeAfter::paint_axes(QPainter& painter, const QRectF& area) const {
  const QFontMetrics small = painter.fontMetrics();
  for (const int part : {0, 1, 2}) {
    const Bytes value{top_.value * part / 2};
    const double y = y_of(area, value);
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme().faint);
    painter.drawText(QRectF(area.left() - margins(small).left(), y - small.height() / 2.0, margins(small).left() - kGap,
                            small.height()),
                     Qt::AlignRight | Qt::AlignVCenter, part == 0 ? "0" : bytes(value));
  }
  const QRectF below(area.left(), area.bottom() + 2, area.width(), small.height());
  painter.drawText(below, Qt::AlignLeft | Qt::AlignTop, time(shown_.begin));
  painter.drawText(below, Qt::AlignRight | Qt::AlignTop, time(shown_.end));
}

void BeforeAfter::paint_legend(QPainter& painter, const QRectF& area, const QString& words) const {
  const QFontMetrics small = painter.fontMetrics();
  const int mark = 2 * small.averageCharWidth() + kGap;
  double x = area.left();
  const double y = area.top() - margins(small).top() + small.height() / 2.0;
  const auto entry = [&](const QPen& pen, const QString& text) {
    painter.setPen(pen);
    painter.drawLine(QPointF(x, y), QPointF(x + mark, y));
    painter.setPen(theme().faint);
    painter.drawText(QPointF(x + mark + kGap / 2.0, y + small.ascent() / 2.0 - 1), text);
    x += mark + kGap / 2.0 + small.horizontalAdvance(text) + 2 * kGap;
  };
  entry(QPen(theme().faint, 1.5), QObject::tr("recorded"));
  if (!without_.empty()) entry(QPen(theme().what_if, 2), words);
}

void BeforeAfter::paint_peak(QPainter& painter, const QRectF& area, const Peak& peak, const QColor& color,
                             bool is_below) const {
  const double x = x_of(area, peak.when), y = y_of(area, peak.bytes);
  const double size = painter.fontMetrics().height() / 4.0;
  painter.setPen(QPen(theme().surface, 1));
  painter.setBrush(color);
  painter.drawEllipse(QPointF(x, y), size, size);
  const QString text = bytes(peak.bytes);
  const double wide = painter.fontMetrics().horizontalAdvance(text) + kGap, high = painter.fontMetrics().height();
  const bool is_right = x + size + wide < area.right();
  QRectF place(is_right ? x + size + kGap / 2.0 : x - size - kGap / 2.0 - wide,
               is_below ? y + size / 2 : y - high - size / 2, wide, high);
  // The legend is above the area.
  place.moveTop(std::clamp(place.top(), area.top(), area.bottom() - high));
  QColor ground = theme().window;
  ground.setAlpha(215);
  painter.fillRect(place, ground);
  painter.setPen(color);
  painter.drawText(place, Qt::AlignCenter, text);
}

void BeforeAfter::paint(QPainter& painter, const QRectF& area, const QString& words) const {
  paint_axes(painter, area);
  const auto draw = [&](const std::vector<Bytes>& columns, const QColor& color, int alpha, double width) {
    const QPolygonF line = line_of(area, columns);
    QPainterPath path;
    path.moveTo(line.first().x(), area.bottom());
    for (const QPointF& point : line) path.lineTo(point);
    path.lineTo(line.last().x(), area.bottom());
    QColor ground = color;
    ground.setAlpha(alpha);
    painter.fillPath(path, ground);
    painter.setPen(QPen(color, width));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
  };
  draw(recorded_, theme().faint, theme().is_dark ? 70 : 45, 1);
  if (!without_.empty()) draw(without_, theme().what_if, theme().is_dark ? 60 : 40, 1.5);
  paint_legend(painter, area, words);
  paint_peak(painter, area, before_, theme().peak, false);
  if (after_) paint_peak(painter, area, *after_, theme().what_if, true);
}

}  // namespace tapelens::gui
