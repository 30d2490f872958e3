#include "gui/advice/reduction_curve.h"

#include <QEvent>
#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>

#include "analyzer/report/format.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

QString bytes(Bytes value) { return QString::fromStdString(report::bytes_text(value)); }
QString time(Time value) { return QString::fromStdString(report::time_text(value)); }

constexpr int kLines = 9;  // of text, high

}  // namespace

ReductionCurve::ReductionCurve(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  const auto again = [this] {
    recorded_.clear();
    without_.clear();
    describe();
    update();
  };
  connect(&session, &Session::opened, this, again);
  connect(&session, &Session::closed, this, again);
  connect(&session, &Session::whatIfChanged, this, again);
  connect(&session, &Session::viewChanged, this, [this, again](const View& before) {
    if (before.subject != session_.view().subject) again();
  });
  describe();
}

QSize ReductionCurve::sizeHint() const {
  return {60 * fontMetrics().averageCharWidth(), kLines * fontMetrics().height()};
}
QSize ReductionCurve::minimumSizeHint() const {
  return {30 * fontMetrics().averageCharWidth(), (kLines - 3) * fontMetrics().height()};
}

QRectF ReductionCurve::plot() const {
  const QFontMetrics small(small_font());
  const int left = small.horizontalAdvance("1023.9 MiB") + kGap;
  return QRectF(rect()).adjusted(left, small.height() + kGap, -kGap, -small.height() - kGap / 2.0);
}

Interval ReductionCurve::busy() const {
  constexpr int kLooked = 4096;
  constexpr int64_t kShare = 50;  // of the peak: a fiftieth of it is next to nothing
  const Subject& subject = session_.subject();
  const Interval whole{Time{0}, std::max(session_.document()->facts().duration, Time{1})};
  const picture::TimeAxis axis{whole, kLooked};
  std::vector<picture::Column> columns;
  subject.curves[static_cast<size_t>(peak::By::category)]->columns(axis, columns);
  const auto is_busy = [&](const picture::Column& column) {
    return column.most.value * kShare > subject.device.peak.value;
  };
  const auto first = std::ranges::find_if(columns, is_busy);
  const auto last = std::ranges::find_if(columns.rbegin(), columns.rend(), is_busy);
  if (first == columns.end()) return whole;
  const auto begin = static_cast<double>(first - columns.begin()), end = static_cast<double>(columns.rend() - last);
  const double around = (end - begin) / 30 + 1;
  return {std::max(axis.time_of(begin - around), whole.begin), std::min(axis.time_of(end + around), whole.end)};
}

void ReductionCurve::find_columns() {
  const int width = std::max(1, static_cast<int>(plot().width() * devicePixelRatioF()));
  if (static_cast<int>(recorded_.size()) == width) return;
  if (recorded_.empty()) shown_ = busy();
  const Subject& subject = session_.subject();
  const picture::TimeAxis axis{shown_, width};
  std::vector<picture::Column> columns;
  subject.curves[static_cast<size_t>(peak::By::category)]->columns(axis, columns);
  recorded_.clear();
  for (const picture::Column& column : columns) recorded_.push_back(column.most);
  without_.clear();
  top_ = subject.device.peak;
  if (const auto& what_if = session_.what_if()) {
    what_if->curve.columns(subject.timeline, axis, without_);
    top_ = std::max(top_, what_if->after);
  }
}

double ReductionCurve::x_of(Time when) const {
  const QRectF area = plot();
  return area.left() + picture::TimeAxis{shown_, static_cast<int>(area.width())}.x_of(when);
}

double ReductionCurve::y_of(Bytes value) const {
  const QRectF area = plot();
  return area.bottom() -
         area.height() * static_cast<double>(value.value) / static_cast<double>(std::max<int64_t>(top_.value, 1));
}

QPolygonF ReductionCurve::line_of(const std::vector<Bytes>& columns) const {
  const QRectF area = plot();
  const double step = area.width() / static_cast<double>(columns.size());
  QPolygonF line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const double y = y_of(columns[i]);
    line << QPointF(area.left() + step * static_cast<double>(i), y)
         << QPointF(area.left() + step * static_cast<double>(i + 1), y);
  }
  return line;
}

void ReductionCurve::paint_axes(QPainter& painter) const {
  const QRectF area = plot();
  const QFontMetrics small = painter.fontMetrics();
  for (const int part : {0, 1, 2}) {
    const Bytes value{top_.value * part / 2};
    const double y = y_of(value);
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme().faint);
    painter.drawText(QRectF(0, y - small.height() / 2.0, area.left() - kGap, small.height()),
                     Qt::AlignRight | Qt::AlignVCenter, part == 0 ? "0" : bytes(value));
  }
  const QRectF below(area.left(), area.bottom() + 2, area.width(), small.height());
  painter.drawText(below, Qt::AlignLeft | Qt::AlignTop, time(shown_.begin));
  painter.drawText(below, Qt::AlignRight | Qt::AlignTop, time(shown_.end));
}

void ReductionCurve::paint_legend(QPainter& painter) const {
  const QFontMetrics small = painter.fontMetrics();
  const int mark = 2 * small.averageCharWidth() + kGap;
  double x = plot().left();
  const double y = small.height() / 2.0;
  const auto entry = [&](const QPen& pen, const QString& text) {
    painter.setPen(pen);
    painter.drawLine(QPointF(x, y), QPointF(x + mark, y));
    painter.setPen(theme().faint);
    painter.drawText(QPointF(x + mark + kGap / 2.0, y + small.ascent() / 2.0 - 1), text);
    x += mark + kGap / 2.0 + small.horizontalAdvance(text) + 2 * kGap;
  };
  entry(QPen(theme().faint, 1.5), tr("recorded"));
  if (!without_.empty()) entry(QPen(theme().what_if, 2), tr("without what is ticked"));
}

void ReductionCurve::paint_peak(QPainter& painter, Time when, Bytes value, const QColor& color, bool is_below) const {
  const QRectF area = plot();
  const double x = x_of(when), y = y_of(value);
  const double size = painter.fontMetrics().height() / 4.0;
  painter.setPen(QPen(theme().surface, 1));
  painter.setBrush(color);
  painter.drawEllipse(QPointF(x, y), size, size);
  const QString text = bytes(value);
  const double wide = painter.fontMetrics().horizontalAdvance(text) + kGap, high = painter.fontMetrics().height();
  const bool is_right = x + size + wide < area.right();
  QRectF place(is_right ? x + size + kGap / 2.0 : x - size - kGap / 2.0 - wide,
               is_below ? y + size / 2 : y - high - size / 2, wide, high);
  place.moveTop(std::clamp(place.top(), 0.0, area.bottom() - high));
  QColor ground = theme().window;
  ground.setAlpha(215);
  painter.fillRect(place, ground);
  painter.setPen(color);
  painter.drawText(place, Qt::AlignCenter, text);
}

void ReductionCurve::paintEvent(QPaintEvent*) {
  if (session_.document() == nullptr) return;
  find_columns();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(small_font());
  paint_axes(painter);
  const auto fill = [&](const QPolygonF& line, QColor ground) {
    QPainterPath path;
    path.moveTo(line.first().x(), plot().bottom());
    for (const QPointF& point : line) path.lineTo(point);
    path.lineTo(line.last().x(), plot().bottom());
    painter.fillPath(path, ground);
  };
  const QPolygonF recorded = line_of(recorded_);
  QColor ground = theme().faint;
  ground.setAlpha(theme().is_dark ? 70 : 45);
  fill(recorded, ground);
  painter.setPen(QPen(theme().faint, 1));
  painter.drawPolyline(recorded);
  const Subject& subject = session_.subject();
  if (!without_.empty()) {
    const QPolygonF without = line_of(without_);
    ground = theme().what_if;
    ground.setAlpha(theme().is_dark ? 60 : 40);
    fill(without, ground);
    painter.setPen(QPen(theme().what_if, 1.5));
    painter.drawPolyline(without);
  }
  paint_legend(painter);
  paint_peak(painter, subject.device.when.time, subject.device.peak, theme().peak, false);
  if (const auto& what_if = session_.what_if()) {
    paint_peak(painter, what_if->when, what_if->after, theme().what_if, true);
  }
}

void ReductionCurve::describe() {
  setAccessibleName(tr("Memory over time"));
  if (session_.document() == nullptr) return;
  QString text = tr("The peak is %1.").arg(bytes(session_.subject().device.peak));
  if (const auto& what_if = session_.what_if())
    text += tr(" Without what is ticked it is %1.").arg(bytes(what_if->after));
  setAccessibleDescription(text);
}

bool ReductionCurve::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || session_.document() == nullptr || recorded_.empty())
    return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QRectF area = plot();
  const double share = (help->pos().x() - area.left()) / area.width();
  if (share < 0 || share >= 1) {
    QToolTip::hideText();
    return true;
  }
  const auto column =
      std::min(static_cast<size_t>(share * static_cast<double>(recorded_.size())), recorded_.size() - 1);
  const Time when = picture::TimeAxis{shown_, 1}.time_of(share);
  QString text = tr("at %1\n%2 recorded").arg(time(when), bytes(recorded_[column]));
  if (column < without_.size()) text += tr("\n%1 without what is ticked").arg(bytes(without_[column]));
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

void ReductionCurve::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

}  // namespace tapelens::gui
