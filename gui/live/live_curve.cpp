#include "gui/live/live_curve.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/models/facts.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

using live::HolderKind;

// From the bottom: the state of the training, which is constant through a step, then the rest.
std::array<HolderKind, live::kHolderKinds> stacking() {
  std::array<HolderKind, live::kHolderKinds> order{};
  for (size_t kind = 0; kind < order.size(); ++kind) order[kind] = static_cast<HolderKind>(kind);
  std::ranges::stable_partition(order,
                                [](HolderKind kind) { return peak::is_state(kind) && kind != HolderKind::gradient; });
  return order;
}

// The distance of the lines: a power of two of bytes.
int64_t line_every(int64_t top, int most) {
  int64_t every = 1;
  while (top / every > most) every *= 2;
  return every;
}

}  // namespace

LiveCurve::LiveCurve(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Live bytes over time, by category"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void LiveCurve::show_figures(std::shared_ptr<const LiveFigures> figures) {
  figures_ = std::move(figures);
  update();
}

void LiveCurve::paint_scale(QPainter& painter, const QRect& area, int64_t top) const {
  const int line = painter.fontMetrics().height();
  const int64_t every = line_every(top, std::max(1, area.height() / (2 * line)));
  for (int64_t bytes = 0; bytes < top; bytes += every) {
    const int y =
        area.bottom() + 1 - static_cast<int>(static_cast<double>(bytes) / static_cast<double>(top) * area.height());
    painter.setPen(theme().faint);
    painter.drawText(QRect(0, y - line / 2, area.left() - 6, line), Qt::AlignRight | Qt::AlignVCenter,
                     bytes_words(Bytes{bytes}));
    painter.setPen(bytes == 0 ? theme().line : theme().grid);
    painter.drawLine(area.left(), y, area.right(), y);
  }
}

void LiveCurve::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(small_font());
  painter.fillRect(rect(), theme().surface);
  if (figures_ == nullptr || figures_->curve.empty()) return;
  const QFontMetrics metrics = painter.fontMetrics();
  const int line = metrics.height();
  const int left = metrics.horizontalAdvance(QStringLiteral("1023.9 MiB")) + 10;
  const QRect area(left, line / 2 + 2, width() - left - kGap, height() - line / 2 - line - 8);
  if (area.width() < 10 || area.height() < 10) return;
  const auto& curve = figures_->curve;
  const int64_t highest = std::ranges::max_element(curve, {}, &live::History::Highest::bytes)->bytes;
  const int64_t top = std::max<int64_t>(1, highest + highest / 20);
  paint_scale(painter, area, top);

  static const auto kOrder = stacking();
  const double scale = static_cast<double>(area.height()) / static_cast<double>(top);
  const auto x_of = [&](size_t interval) {
    return area.left() + static_cast<int>(interval * static_cast<size_t>(area.width()) / curve.size());
  };
  for (size_t first = 0; first < curve.size();) {
    // Equal neighbors are one rectangle for each category.
    size_t last = first + 1;
    while (last < curve.size() && curve[last].kinds == curve[first].kinds) ++last;
    int64_t sum = 0;
    int below = area.bottom() + 1;
    for (const HolderKind kind : kOrder) {
      sum += std::max<int64_t>(0, curve[first].kinds[static_cast<size_t>(kind)]);
      const int y = area.bottom() + 1 - static_cast<int>(std::lround(static_cast<double>(sum) * scale));
      if (y >= below) continue;
      painter.fillRect(x_of(first), y, x_of(last) - x_of(first), below - y, theme().category(kind));
      below = y;
    }
    first = last;
  }
  painter.setPen(theme().faint);
  const QRect times(area.left(), area.bottom() + 4, area.width(), line);
  painter.drawText(times, Qt::AlignLeft | Qt::AlignVCenter, time_words(figures_->curve_begin));
  painter.drawText(times, Qt::AlignRight | Qt::AlignVCenter, time_words(figures_->now));
}

}  // namespace tapelens::gui
