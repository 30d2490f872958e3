#include "gui/compare/steps_curve.h"

#include <QEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "analyzer/text/format.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kLines = 11;  // height, in lines of text

QString text_of(int64_t bytes) { return QString::fromStdString(text::bytes_text(Bytes{bytes})); }

}  // namespace

StepsCurve::StepsCurve(Session& session, Other& other, QWidget* parent)
    : QWidget(parent), session_(session), other_(other) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Memory of both over steps"));
  connect(&other, &Other::changed, this, [this] {
    a_.clear();
    update();
  });
  connect(&other, &Other::compared, this, [this] { update(); });
}

QSize StepsCurve::sizeHint() const { return {60 * fontMetrics().averageCharWidth(), kLines * fontMetrics().height()}; }
QSize StepsCurve::minimumSizeHint() const {
  return {30 * fontMetrics().averageCharWidth(), (kLines - 3) * fontMetrics().height()};
}

uint32_t StepsCurve::steps() const {
  return static_cast<uint32_t>(
      std::max(session_.subject().of.bands.steps.size(), other_.subject().of.bands.steps.size()));
}

uint32_t StepsCurve::common() const {
  return static_cast<uint32_t>(
      std::min(session_.subject().of.bands.steps.size(), other_.subject().of.bands.steps.size()));
}

QRectF StepsCurve::plot() const {
  const QFontMetrics small(small_font());
  const int left = small.horizontalAdvance("1023.9 MiB") + kGap;
  return QRectF(rect()).adjusted(left, small.height() + kGap, -kGap, -small.height() - kGap / 2.0);
}

double StepsCurve::x_of(double step) const { return plot().left() + plot().width() * step / steps(); }
double StepsCurve::y_of(int64_t bytes) const {
  return plot().bottom() - plot().height() * static_cast<double>(bytes) / static_cast<double>(top_);
}

void StepsCurve::find_columns() {
  const int width = std::max(1, static_cast<int>(plot().width() * devicePixelRatioF()));
  if (static_cast<int>(a_.size()) == width) return;
  a_ = step_columns(session_.subject(), 0, steps(), width);
  b_ = step_columns(other_.subject(), 0, steps(), width);
  top_ = std::max({session_.subject().device.peak.value, other_.subject().device.peak.value, int64_t{1}});
}

void StepsCurve::paint_axes(QPainter& painter) const {
  const QRectF area = plot();
  const QFontMetrics small = painter.fontMetrics();
  for (const int part : {0, 1, 2}) {
    const double y = y_of(top_ * part / 2);
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme().faint);
    painter.drawText(QRectF(0, y - small.height() / 2.0, area.left() - kGap, small.height()),
                     Qt::AlignRight | Qt::AlignVCenter, part == 0 ? "0" : text_of(top_ * part / 2));
  }
  // As many numbers as fit.
  const double each = area.width() / steps();
  const double wide = small.horizontalAdvance("step 99999") + kGap;
  uint32_t every = 1;
  while (every * each < wide) every *= every % 3 == 2 ? 5 : 2;
  for (uint32_t step = 0; step < steps(); step += every) {
    const double x = x_of(step);
    painter.setPen(QPen(theme().line, 1));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom() + kGap / 2.0));
    painter.setPen(theme().faint);
    painter.drawText(QRectF(x + kGap / 2.0, area.bottom() + 2, wide, small.height()), Qt::AlignLeft | Qt::AlignTop,
                     tr("step %1").arg(step));
  }
}

void StepsCurve::paint_legend(QPainter& painter) const {
  const QFontMetrics small = painter.fontMetrics();
  const int mark = 2 * small.averageCharWidth() + kGap;
  double x = plot().left();
  const double y = small.height() / 2.0;
  const auto name = [&](const QString& letter, const Document& document) {
    const QString file = document.facts().path.section('/', -1);
    const QString text = letter + ": " + small.elidedText(file, Qt::ElideMiddle, static_cast<int>(plot().width() / 3));
    painter.setPen(theme().faint);
    painter.drawText(QPointF(x + mark + kGap / 2.0, y + small.ascent() / 2.0 - 1), text);
    x += mark + kGap / 2.0 + small.horizontalAdvance(text) + 2 * kGap;
  };
  QColor ground = theme().faint;
  ground.setAlpha(90);
  painter.fillRect(QRectF(x, y - small.height() / 4.0, mark, small.height() / 2.0), ground);
  name("A", *session_.document());
  painter.setPen(QPen(theme().accent, 2));
  painter.drawLine(QPointF(x, y), QPointF(x + mark, y));
  name("B", *other_.document());
}

void StepsCurve::paint_peak(QPainter& painter, const Subject& subject, const ComparedMoment& moment,
                            const QColor& color, const QString& letter) const {
  if (moment.allocations == 0) return;
  const QRectF area = plot();
  const double x = x_of(step_of(subject, moment.time)), y = y_of(moment.bytes.value);
  const double size = painter.fontMetrics().height() / 4.0;
  painter.setPen(QPen(theme().surface, 1));
  painter.setBrush(color);
  painter.drawEllipse(QPointF(x, y), size, size);
  const QString text = letter + "  " + text_of(moment.bytes.value);
  const double wide = painter.fontMetrics().horizontalAdvance(text) + kGap, high = painter.fontMetrics().height();
  // Puts the labels on either side of their marks, so that they do not overlap if both peaks are at the same step.
  const bool is_right = letter == "B" ? x + size + wide < area.right() : x - size - wide < area.left();
  QRectF place(is_right ? x + size + kGap / 2.0 : x - size - kGap / 2.0 - wide, y - high / 2, wide, high);
  place.moveTop(std::clamp(place.top(), 0.0, area.bottom() - high));
  QColor ground = theme().window;
  ground.setAlpha(215);
  painter.fillRect(place, ground);
  painter.setPen(color);
  painter.drawText(place, Qt::AlignCenter, text);
}

void StepsCurve::paintEvent(QPaintEvent*) {
  if (!has_both()) return;
  find_columns();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(small_font());
  const QRectF area = plot();
  if (const auto step = other_.step()) {
    painter.fillRect(QRectF(x_of(*step), area.top(), area.width() / steps(), area.height()), theme().selection);
  }
  paint_axes(painter);
  const auto line_of = [&](const std::vector<int64_t>& columns) {
    const double each = area.width() / static_cast<double>(columns.size());
    QPolygonF line;
    for (size_t i = 0; i < columns.size() && columns[i] >= 0; ++i) {
      const double x = area.left() + each * static_cast<double>(i), y = y_of(columns[i]);
      line << QPointF(x, y) << QPointF(x + each, y);
    }
    return line;
  };
  if (const QPolygonF a = line_of(a_); !a.isEmpty()) {
    QPainterPath path;
    path.moveTo(a.first().x(), area.bottom());
    for (const QPointF& point : a) path.lineTo(point);
    path.lineTo(a.last().x(), area.bottom());
    QColor ground = theme().faint;
    ground.setAlpha(theme().is_dark ? 80 : 60);
    painter.fillPath(path, ground);
    painter.setPen(QPen(theme().faint, 1));
    painter.drawPolyline(a);
  }
  painter.setPen(QPen(theme().accent, 1.5));
  painter.drawPolyline(line_of(b_));
  paint_legend(painter);
  if (const MomentComparison* comparison = other_.comparison()) {
    paint_peak(painter, session_.subject(), comparison->a, theme().text, "A");
    paint_peak(painter, other_.subject(), comparison->b, theme().accent, "B");
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme().accent, 1, Qt::DotLine));
    painter.drawRect(area.adjusted(-2, -2, 2, 2));
  }
}

void StepsCurve::mousePressEvent(QMouseEvent* event) {
  if (!has_both() || event->button() != Qt::LeftButton || !plot().contains(event->position())) return;
  const auto step = static_cast<uint32_t>((event->position().x() - plot().left()) * steps() / plot().width());
  if (step < common()) Q_EMIT stepClicked(step);
}

void StepsCurve::keyPressEvent(QKeyEvent* event) {
  const bool is_left = event->key() == Qt::Key_Left, is_right = event->key() == Qt::Key_Right;
  if (!has_both() || (!is_left && !is_right) || common() == 0) {
    QWidget::keyPressEvent(event);
    return;
  }
  const auto step = other_.step();
  if (!step) {
    Q_EMIT stepClicked(is_right ? 0 : common() - 1);
  } else if (is_right ? *step + 1 < common() : *step > 0) {
    Q_EMIT stepClicked(is_right ? *step + 1 : *step - 1);
  }
}

bool StepsCurve::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !has_both() || a_.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const double share = (help->pos().x() - plot().left()) / plot().width();
  if (share < 0 || share >= 1) {
    QToolTip::hideText();
    return true;
  }
  const auto column = std::min(static_cast<size_t>(share * static_cast<double>(a_.size())), a_.size() - 1);
  const auto value = [&](const std::vector<int64_t>& columns) {
    return columns[column] < 0 ? tr("no such step") : text_of(columns[column]);
  };
  QToolTip::showText(help->globalPos(),
                     tr("step %1\nA: %2\nB: %3").arg(std::floor(share * steps())).arg(value(a_), value(b_)), this);
  return true;
}

void StepsCurve::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

}  // namespace tapelens::gui
