// The memory curve: stacked by group, with the peak of the shown range and the what-if curve.
#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/facts.h"
#include "gui/timeline/scene.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// Round distances in bytes, in powers of two, with at most `most` lines up to the top.
int64_t line_every(Bytes top, int most) {
  int64_t every = 1;
  while (top.value / every > most) every *= 2;
  return every;
}

void paint_grid(Surface& surface, const Scene& scene, const QRect& lane) {
  QPainter& p = surface.painter();
  p.setFont(small_font());
  const int line_height = p.fontMetrics().height();
  const int64_t every = line_every(scene.top, std::max(1, lane.height() / (2 * line_height)));
  for (int64_t bytes = every; bytes < scene.top.value; bytes += every) {
    const int y = lane.bottom() -
                  static_cast<int>(static_cast<double>(bytes) / static_cast<double>(scene.top.value) * lane.height());
    if (y - line_height < lane.top() + line_height) break;  // the lane's name is here
    p.setPen(theme().faint);
    p.drawText(QRect(lane.left() - scene.left, y - line_height / 2, scene.left - 6, line_height),
               Qt::AlignRight | Qt::AlignVCenter, bytes_words(Bytes{bytes}));
    p.setPen(theme().grid);
    p.drawLine(lane.left(), y, lane.right(), y);
  }
}

// The top of each column as one line, in device independent pixels.
template <class Value>
QPolygonF outline(const Scene& scene, const QRect& lane, Bytes top, Value value) {
  QPolygonF line;
  double before = -1;
  for (int c = 0; c < scene.axis.width; ++c) {
    const double y = lane.bottom() + 1 - static_cast<double>(value(c)) / static_cast<double>(top.value) * lane.height();
    const double x = lane.left() + c / scene.ratio;
    if (y == before && c + 1 < scene.axis.width) continue;
    if (before >= 0) line << QPointF(x, before);
    line << QPointF(x, y);
    before = y;
  }
  line << QPointF(lane.left() + lane.width(), before);
  return line;
}

// Draws the stack of each column; equal neighboring columns are one rectangle for each group.
void paint_stack(Surface& surface, const QRect& area, const std::vector<picture::PixelColumn>& columns, double scale,
                 const std::vector<uint8_t>& stacked, const std::array<Ground, picture::Grouping::kGroups>& grounds) {
  using Tops = std::array<int, picture::Grouping::kGroups>;  // by index in `stacked`
  const int bottom = area.bottom() + 1;
  const auto tops_of = [&](const picture::PixelColumn& column) {
    // Rounds sums instead of parts, so that the top is exact to a pixel.
    Tops tops{};
    int64_t sum = 0;
    for (size_t place = 0; place < stacked.size(); ++place) {
      sum += column.bytes[stacked[place]];
      tops[place] = bottom - static_cast<int>(std::lround(static_cast<double>(sum) * scale));
    }
    return tops;
  };
  const auto fill = [&](size_t first, size_t last, const Tops& tops) {
    int below = bottom;
    for (size_t place = 0; place < stacked.size(); ++place) {
      const int left = area.left() + static_cast<int>(first), width = static_cast<int>(last - first);
      const int top = tops[place];
      if (top < below) surface.fill(QRect(left, top, width, below - top), grounds[stacked[place]]);
      below = std::min(below, top);
    }
  };
  size_t first = 0;
  Tops shown{};
  for (size_t c = 0; c < columns.size(); ++c) {
    const Tops tops = tops_of(columns[c]);
    if (c > 0 && tops != shown) {
      fill(first, c, shown);
      first = c;
    }
    shown = tops;
  }
  if (!columns.empty()) fill(first, columns.size(), shown);
}

// Draws an edge around each line, so that it is visible on any background.
void paint_line(QPainter& p, const QPolygonF& line, const QColor& color, double width) {
  p.setPen(QPen(theme().surface, width + 2));
  p.drawPolyline(line);
  p.setPen(QPen(color, width));
  p.drawPolyline(line);
}

// Lines of the device's allocator: allocated, waiting for a stream (above allocated), reserved. Empty vectors are not
// drawn.
void paint_device_lines(QPainter& p, const Scene& scene, const QRect& lane, Bytes top,
                        const std::vector<Bytes>& allocated, const std::vector<Bytes>& active,
                        const std::vector<Bytes>& reserved) {
  const auto line_of = [&](const std::vector<Bytes>& bytes) {
    return outline(scene, lane, top, [&](int c) { return bytes[static_cast<size_t>(c)].value; });
  };
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  if (!reserved.empty()) paint_line(p, line_of(reserved), theme().reserved, 2);
  if (!allocated.empty()) {
    const QPolygonF line = line_of(allocated);
    if (!active.empty()) {
      const QPolygonF above = line_of(active);
      QPolygonF between = above;
      for (auto at = line.crbegin(); at != line.crend(); ++at) between << *at;
      p.setPen(Qt::NoPen);
      p.setBrush(QBrush(theme().text, Qt::BDiagPattern));
      p.drawPolygon(between);
      p.setPen(QPen(theme().text, 1, Qt::DotLine));
      p.drawPolyline(above);
    }
    paint_line(p, line, theme().text, 1);
  }
  p.restore();
}

// Draws the search results from the bottom up, because in the dimmed stack they are spread over many groups.
void paint_found(QPainter& p, const Scene& scene, const QRect& lane) {
  const QPolygonF line =
      outline(scene, lane, scene.top, [&](int c) { return scene.found[static_cast<size_t>(c)].value; });
  QPolygonF filled = line;
  filled << QPointF(lane.left() + lane.width(), lane.bottom() + 1) << QPointF(lane.left(), lane.bottom() + 1);
  QColor ground = theme().accent;
  ground.setAlpha(110);
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  p.setPen(Qt::NoPen);
  p.setBrush(ground);
  p.drawPolygon(filled);
  paint_line(p, line, theme().accent, 1);
  p.restore();
}

}  // namespace

void paint_curve(Surface& surface, const Scene& scene, const QRect& lane) {
  paint_grid(surface, scene, lane);
  const QRect area = surface.device(lane);
  const double scale = static_cast<double>(area.height()) / static_cast<double>(scene.top.value);
  paint_stack(surface, area, scene.columns, scale, scene.curve.grouping().stacked,
              scene.found.empty() ? scene.grounds : scene.dimmed);
  QPainter& p = surface.painter();
  if (!scene.found.empty()) paint_found(p, scene, lane);
  paint_device_lines(p, scene, lane, scene.top, scene.allocated, scene.active, scene.reserved);
  if (scene.lowered.empty()) return;
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  paint_line(p, outline(scene, lane, scene.top, [&](int c) { return scene.lowered[static_cast<size_t>(c)].value; }),
             theme().what_if, 2);
  p.restore();
}

void paint_other_curve(Surface& surface, const Scene& scene, const Subject& other, const QRect& lane) {
  std::vector<picture::PixelColumn> columns;
  const picture::Curve& curve = *other.curves[static_cast<size_t>(peak::By::category)];
  curve.columns(scene.axis, columns);
  const QRect area = surface.device(lane);
  const Bytes top{std::max<int64_t>(1, highest_of(other).value)};
  const double scale = static_cast<double>(area.height()) / static_cast<double>(top.value);
  std::array<Ground, picture::Grouping::kGroups> grounds{};
  for (uint8_t group = 0; group < peak::kHolderKinds; ++group) grounds[group] = group_ground(peak::By::category, group);
  paint_stack(surface, area, columns, scale, curve.grouping().stacked, grounds);
  QPainter& p = surface.painter();
  if (other.lines) {
    std::vector<Bytes> allocated, active, reserved;
    other.lines->allocated.columns(scene.axis, allocated);
    if (!other.lines->active.is_flat()) other.lines->active.columns(scene.axis, active);
    if (!other.lines->reserved.is_flat()) other.lines->reserved.columns(scene.axis, reserved);
    paint_device_lines(p, scene, lane, top, allocated, active, reserved);
  }
  p.setPen(QPen(theme().error, 2));
  for (const model::OutOfMemoryId request : other.out_of_memory) {
    const Time time = other.of.process.out_of_memory.time[request];
    if (!scene.axis.shown.contains(time)) continue;
    const int x = static_cast<int>(scene.x_of(time));
    p.drawLine(x, lane.top(), x, lane.bottom());
  }
}

picture::TimeAxis minimap_axis(const Session& session, int width, double ratio) {
  const Time whole{std::max<int64_t>(session.document()->facts().duration.ns, 1)};
  return {session.subject().scale(session.view().axis), {Time{0}, whole}, std::max(1, width), ratio};
}

void paint_minimap(Surface& surface, const Session& session, const QRect& lane, std::vector<Bytes>& most) {
  const Subject& subject = session.subject();
  const QRect area = surface.device(lane);
  if (most.size() != static_cast<size_t>(area.width()))
    picture::most_columns(subject.timeline, minimap_axis(session, area.width(), surface.ratio()), most);
  const Ground ground{pixel(theme().faint), 0, picture::Pattern::plain};
  const double scale =
      static_cast<double>(area.height() - 2) / static_cast<double>(std::max<int64_t>(1, subject.device.peak.value));
  for (int c = 0; c < area.width(); ++c) {
    const int height = static_cast<int>(std::lround(static_cast<double>(most[static_cast<size_t>(c)].value) * scale));
    surface.fill(QRect(area.left() + c, area.bottom() + 1 - height, 1, height), ground);
  }
}

}  // namespace tapelens::gui
