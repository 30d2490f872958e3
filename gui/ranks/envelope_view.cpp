#include "gui/ranks/envelope_view.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "analyzer/text/format.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kLines = 11;  // height, in lines of text

QString text_of(int64_t bytes) { return QString::fromStdString(text::bytes_text({bytes})); }

}  // namespace

EnvelopeView::EnvelopeView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  setAccessibleName(QStringLiteral("Memory of all ranks over the steps"));
}

void EnvelopeView::show_job(std::shared_ptr<const ranks::Job> job) {
  job_ = std::move(job);
  const bool has_curve = job_ && job_->envelope.most.size() > 1;
  setVisible(has_curve);
  if (has_curve)
    setAccessibleDescription(
        QStringLiteral("from %1 to %2")
            .arg(text_of(std::ranges::min(job_->envelope.least)), text_of(std::ranges::max(job_->envelope.most))));
  update();
}

QSize EnvelopeView::sizeHint() const {
  return {60 * fontMetrics().averageCharWidth(), kLines * fontMetrics().height()};
}

QSize EnvelopeView::minimumSizeHint() const {
  return {30 * fontMetrics().averageCharWidth(), (kLines - 4) * fontMetrics().height()};
}

QRectF EnvelopeView::plot() const {
  const QFontMetrics small(small_font());
  const int left = small.horizontalAdvance(QStringLiteral("1023.9 MiB")) + kGap;
  return QRectF(rect()).adjusted(left, small.height() + kGap, -kGap, -small.height() - kGap / 2.0);
}

double EnvelopeView::step_of(size_t point) const {
  return std::ldexp(static_cast<double>(job_->envelope.first + point), -job_->envelope.exponent);
}

void EnvelopeView::paint_axes(QPainter& painter, int64_t top) const {
  const QRectF area = plot();
  const QFontMetrics small = painter.fontMetrics();
  for (const int part : {0, 1, 2}) {
    const double y = area.bottom() - area.height() * part / 2;
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme().faint);
    painter.drawText(QRectF(0, y - small.height() / 2.0, area.left() - kGap, small.height()),
                     Qt::AlignRight | Qt::AlignVCenter, part == 0 ? QStringLiteral("0") : text_of(top * part / 2));
  }
  // As many numbers as fit, at whole steps.
  const double begin = step_of(0), end = step_of(job_->envelope.most.size());
  const double wide = small.horizontalAdvance(QStringLiteral("step 99999")) + kGap;
  double every = 1;
  while (every / (end - begin) * area.width() < wide) every *= 2;
  painter.setPen(theme().faint);
  for (double step = std::ceil(begin / every) * every; step < end; step += every) {
    const double x = area.left() + area.width() * (step - begin) / (end - begin);
    painter.drawText(QRectF(x, area.bottom() + 2, wide, small.height()), Qt::AlignLeft | Qt::AlignTop,
                     QStringLiteral("step %1").arg(std::llround(step)));
  }
}

void EnvelopeView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().surface);
  if (!job_ || job_->envelope.most.size() < 2) return;
  painter.setFont(small_font());
  const ranks::Envelope& e = job_->envelope;
  const int64_t top = std::max<int64_t>(1, std::ranges::max(e.most));
  paint_axes(painter, top);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF area = plot();
  const double each = area.width() / static_cast<double>(e.most.size());
  const auto y_of = [&](int64_t bytes) {
    return area.bottom() - area.height() * static_cast<double>(bytes) / static_cast<double>(top);
  };
  // Draws steps instead of slopes, because each value covers a span of time.
  const auto line_of = [&](const std::vector<int64_t>& values) {
    QPolygonF line;
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = area.left() + each * static_cast<double>(i);
      line << QPointF(x, y_of(values[i])) << QPointF(x + each, y_of(values[i]));
    }
    return line;
  };
  QPolygonF band = line_of(e.most);
  const QPolygonF least = line_of(e.least);
  for (qsizetype i = least.size(); i-- > 0;) band << least[i];
  QColor ground = theme().accent;
  ground.setAlphaF(0.25F);
  QPainterPath path;
  path.addPolygon(band);
  painter.fillPath(path, ground);
  painter.setPen(QPen(ground, 1));
  painter.drawPolyline(line_of(e.most));
  painter.drawPolyline(least);
  painter.setPen(QPen(theme().accent, 1.5));
  painter.drawPolyline(line_of(e.median));
  painter.setPen(theme().faint);
  painter.drawText(QRectF(area.left(), 0, area.width(), painter.fontMetrics().height()), Qt::AlignLeft | Qt::AlignTop,
                   QStringLiteral("Line: the median rank at each point. Ground: from the least to the most of all"));
}

}  // namespace tapelens::gui
