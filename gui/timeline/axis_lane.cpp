// The axis, its pauses, and the bands of steps and phases below it.
#include <QPolygon>
#include <algorithm>
#include <functional>
#include <set>

#include "analyzer/text/format.h"
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

struct VisibleBreak {
  QRect band;     // over the axis, in device independent pixels
  QRect label;    // of its length; empty: that of a longer pause is there
  QString words;  // "+4.938 s"
};

std::vector<VisibleBreak> visible_breaks(const Scene& scene, const QRect& axis, const QFontMetrics& metrics) {
  std::vector<VisibleBreak> out;
  std::vector<std::pair<int64_t, size_t>> longest;
  for (const picture::Break& one : picture::breaks(scene.axis)) {
    const int x0 = scene.left + static_cast<int>(one.x0 / scene.ratio);
    const int x1 = std::max(x0 + 1, scene.left + static_cast<int>(one.x1 / scene.ratio));
    VisibleBreak visible{QRect(x0, axis.top(), x1 - x0, axis.height()), {}, {}};
    visible.words = QLatin1Char('+') + time_words(Time{one.pause.end.ns - one.pause.begin.ns});
    const int width = metrics.horizontalAdvance(visible.words) + 8;
    const int left = std::clamp((x0 + x1 - width) / 2, axis.left(), std::max(axis.left(), axis.right() - width));
    visible.label = QRect(left, axis.top(), width, axis.height() - 5);
    longest.emplace_back(one.pause.end.ns - one.pause.begin.ns, out.size());
    out.push_back(std::move(visible));
  }
  std::ranges::sort(longest, std::greater());
  std::set<int> taken;  // the left of each label; all have about the same width
  for (const auto& [length, at] : longest) {
    QRect& label = out[at].label;
    const auto next = taken.lower_bound(label.left());
    const bool is_free = (next == taken.end() || *next > label.right()) &&
                         (next == taken.begin() || *std::prev(next) + label.width() <= label.left());
    if (is_free) {
      taken.insert(label.left());
    } else {
      label = {};
    }
  }
  return out;
}

}  // namespace

void paint_axis(Surface& surface, const Scene& scene, const QRect& lane) {
  QPainter& p = surface.painter();
  p.setFont(small_font());
  const QFontMetrics metrics = p.fontMetrics();
  const picture::Ticks ticks =
      picture::ticks(scene.axis, static_cast<int>(metrics.horizontalAdvance("000.000000 ms") * scene.ratio));
  const bool is_of_events = scene.session.view().axis == picture::AxisKind::events;
  const auto breaks = visible_breaks(scene, lane, metrics);
  for (const picture::Ticks::Tick& tick : ticks.all) {
    const int x = scene.left + static_cast<int>(tick.x / scene.ratio);
    p.setPen(theme().line);
    p.drawLine(x, lane.bottom() - 4, x, lane.bottom());
    const QString words = is_of_events ? QString::fromStdString(text::count_text(static_cast<uint64_t>(tick.number)))
                                       : mark_words(tick.number, ticks.every);
    const int right = x + 4 + metrics.horizontalAdvance(words);
    const auto covers = [&](const VisibleBreak& b) { return b.label.left() < right + 4 && b.label.right() > x; };
    if (right > lane.right() || std::ranges::any_of(breaks, covers)) continue;
    p.setPen(theme().faint);
    p.drawText(QRect(x + 3, lane.top(), metrics.horizontalAdvance(words) + 2, lane.height() - 2),
               Qt::AlignLeft | Qt::AlignVCenter, words);
  }
}

void paint_breaks(QPainter& p, const Scene& scene, const QRect& axis, int top, int bottom) {
  p.setFont(small_font());
  for (const VisibleBreak& one : visible_breaks(scene, axis, p.fontMetrics())) {
    const QRect band(one.band.left(), top, one.band.width(), bottom - top + 1);
    QColor ground = theme().window, ink = theme().faint;
    ground.setAlpha(150);
    ink.setAlpha(120);
    p.fillRect(band, ground);
    p.fillRect(band, QBrush(ink, Qt::BDiagPattern));
    // Torn edges.
    constexpr int kTooth = 6;
    if (band.width() > kTooth) {
      for (const int x : {band.left(), band.right() + 1}) {
        QPolygon edge;
        for (int y = band.top(), tooth = 0; y <= band.bottom(); y += kTooth, ++tooth)
          edge << QPoint(x + (tooth % 2 == 0 ? -2 : 2), y);
        p.setPen(QPen(theme().window, 3));
        p.drawPolyline(edge);
        p.setPen(QPen(theme().faint, 1));
        p.drawPolyline(edge);
      }
    }
    p.fillRect(QRect(one.band.left(), axis.bottom() - 4, one.band.width(), 5), QBrush(theme().faint, Qt::BDiagPattern));
    if (one.label.isEmpty()) continue;
    p.setPen(theme().text);
    p.drawText(one.label, Qt::AlignCenter, one.words);
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
