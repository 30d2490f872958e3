// The time axis, and the bands of steps and phases below it.
#include <algorithm>

#include "gui/models/facts.h"
#include "gui/timeline/scene.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// Visits the visible intervals in the order of time; several narrow ones in the same column are visited as one.
template <class Intervals, class When, class Visit>
void visible(const Intervals& all, const picture::TimeAxis& axis, When when, Visit visit) {
  auto at = std::ranges::upper_bound(all, axis.shown.begin, {}, [&](const auto& x) { return when(x).end; });
  while (at != all.end() && when(*at).begin < axis.shown.end) {
    const Interval w = when(*at);
    const int x0 = std::max(0, axis.column_of(w.begin));
    const int x1 = w.end >= axis.shown.end ? axis.width : std::max(x0 + 1, axis.column_of(w.end));
    visit(*at, x0, x1);
    // Skips to the first interval that extends beyond this column.
    const Time next = axis.time_of(x0 + 1);
    ++at;
    if (x1 == x0 + 1)
      at = std::ranges::upper_bound(at, all.end(), next, {}, [&](const auto& x) { return when(x).end; });
  }
}

// As many digits as needed to distinguish two marks.
QString mark_words(int64_t ns, int64_t every) {
  const auto unit = [&](double scale, const char* name) {
    int digits = 0;
    for (double step = static_cast<double>(every) / scale; step < 0.999 && digits < 9; step *= 10) ++digits;
    return QString::number(static_cast<double>(ns) / scale, 'f', digits) + " " + name;
  };
  if (every >= 1000000) return unit(1e9, "s");
  if (every >= 1000) return unit(1e6, "ms");
  return unit(1e3, "us");
}

}  // namespace

void paint_axis(Surface& surface, const Scene& scene, const QRect& lane) {
  QPainter& p = surface.painter();
  p.setFont(small_font());
  const QFontMetrics metrics = p.fontMetrics();
  const picture::Ticks ticks =
      picture::ticks(scene.axis, static_cast<int>(metrics.horizontalAdvance("000.000000 ms") * scene.ratio));
  for (int64_t at = ticks.first; at < scene.axis.shown.end.ns; at += ticks.every) {
    const int x = static_cast<int>(scene.x_of(Time{at}));
    p.setPen(theme().line);
    p.drawLine(x, lane.bottom() - 4, x, lane.bottom());
    const QString words = mark_words(at, ticks.every);
    if (x + 4 + metrics.horizontalAdvance(words) > lane.right()) continue;
    p.setPen(theme().faint);
    p.drawText(QRect(x + 3, lane.top(), metrics.horizontalAdvance(words) + 2, lane.height() - 2),
               Qt::AlignLeft | Qt::AlignVCenter, words);
  }
}

void paint_bands(Surface& surface, const Scene& scene, const QRect& lane) {
  const model::Bands& bands = scene.subject.of.bands;
  const QRect area = surface.device(lane);
  const double ratio = surface.ratio();
  const int half = area.height() / 2;
  QPainter& p = surface.painter();
  p.setFont(small_font());
  const QFontMetrics metrics = p.fontMetrics();
  const picture::Pixel edge = pixel(theme().surface);
  const int least_label = surface.device(metrics.averageCharWidth() * 4.0);
  const auto label = [&](int x0, int x1, int top, const QString& words, const QColor& ground) {
    const QRect where(static_cast<int>((area.left() + x0) / ratio) + 4, static_cast<int>(top / ratio),
                      static_cast<int>((x1 - x0) / ratio) - 6, static_cast<int>(half / ratio));
    if (where.width() < metrics.horizontalAdvance(words)) return;
    p.setPen(text_on(ground));
    p.drawText(where, Qt::AlignLeft | Qt::AlignVCenter, words);
  };
  visible(
      bands.steps, scene.axis, [](const Interval& step) { return step; },
      [&](const Interval& step, int x0, int x1) {
        const auto index = bands.first_step + static_cast<size_t>(&step - bands.steps.data());
        const bool is_chosen = scene.session.view().step == index;
        const QColor ground = is_chosen                       ? theme().accent
                              : index % 2 == 0 && x1 - x0 > 2 ? theme().raised
                                                              : theme().line;
        surface.fill(QRect(area.left() + x0, area.top(), x1 - x0, half - 1), {pixel(ground), 0, {}});
        if (x1 - x0 > 3) surface.fill(QRect(area.left() + x0, area.top(), 1, half - 1), {edge, 0, {}});
        if (x1 - x0 > least_label) label(x0, x1, area.top(), QObject::tr("step %1").arg(index), ground);
      });
  visible(
      bands.phases, scene.axis, [](const model::Bands::Band& band) { return band.when; },
      [&](const model::Bands::Band& band, int x0, int x1) {
        const QColor ground = theme().phase(band.phase);
        surface.fill(QRect(area.left() + x0, area.top() + half, x1 - x0, half - 1), {pixel(ground), 0, {}});
        if (x1 - x0 > least_label) label(x0, x1, area.top() + half, model::phase_name(band.phase), ground);
      });
}

}  // namespace tapelens::gui
