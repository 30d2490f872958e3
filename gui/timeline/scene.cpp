#include "gui/timeline/scene.h"

#include <algorithm>
#include <array>

#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {
namespace {

// Leaves room above the highest peak for its mark.
Bytes with_room(Bytes peak) { return Bytes{std::max<int64_t>(1, peak.value + peak.value / 16)}; }

}  // namespace

Bytes highest_of(const Subject& subject) {
  return subject.lines ? std::max(subject.device.peak, subject.lines->most) : subject.device.peak;
}

picture::Pixel pixel(const QColor& color) { return color.rgba(); }

const picture::Curve& curve_of(const Session& session, const Subject& subject) {
  const peak::By by = session.has(Part::curves) ? session.view().by : peak::By::category;
  return *subject.curves[static_cast<size_t>(by)];
}

QColor group_color(peak::By by, uint8_t group) {
  return by == peak::By::category ? theme().category(static_cast<peak::HolderKind>(group)) : theme().group(group);
}

Ground group_ground(peak::By by, uint8_t group) {
  const QColor color = group_color(by, group);
  using picture::Pattern;
  // By HolderKind: the kinds that fill most pictures are plain.
  constexpr std::array<Pattern, peak::kHolderKinds> kPatterns = {
      Pattern::plain,   Pattern::rising,  Pattern::dots,    Pattern::crosses, Pattern::level,
      Pattern::upright, Pattern::falling, Pattern::dots,    Pattern::plain,   Pattern::crosses,
      Pattern::upright, Pattern::hatched, Pattern::falling, Pattern::plain};
  if (by != peak::By::category) return {pixel(color), 0, Pattern::plain};
  return {pixel(color), pixel(theme().ink(static_cast<peak::HolderKind>(group))), kPatterns[group]};
}

QString group_label(const picture::Grouping& grouping, uint8_t group) {
  if (grouping.by == peak::By::category) return category_label(static_cast<peak::HolderKind>(group));
  return visible(grouping.names[group]);
}

Scene::Scene(const Session& shown, int from, int across, double device_ratio)
    : session(shown),
      subject(shown.subject()),
      left(from),
      width(across),
      axis(subject.scale(shown.view().axis), shown.view().range, std::max(1, static_cast<int>(across * device_ratio)),
           device_ratio),
      curve(curve_of(shown, subject)),
      top(with_room(highest_of(subject))),
      ratio(device_ratio) {
  curve.columns(axis, columns);
  if (subject.lines) {
    subject.lines->allocated.columns(axis, allocated);
    if (!subject.lines->active.is_flat()) subject.lines->active.columns(axis, active);
    if (!subject.lines->reserved.is_flat()) subject.lines->reserved.columns(axis, reserved);
  }
  if (const auto& what_if = shown.what_if()) {
    what_if->curve.columns(subject.timeline, axis, lowered);
    top = std::max(top, with_room(what_if->after));
  }
  if (const SearchResult* wanted = shown.found().get())
    wanted->curve.columns(subject.timeline, wanted->is_allocation, axis, found);
  const QColor surface = theme().surface;
  for (uint8_t group = 0; group < picture::Grouping::kGroups; ++group) {
    const bool has_it = curve.grouping().by != peak::By::category || group < peak::kHolderKinds;
    grounds[group] = has_it ? group_ground(curve.grouping().by, group) : Ground{};
    // Dims groups that the search does not find.
    const auto mixed = [&](picture::Pixel p) {
      const QColor c(p);
      const auto mix = [](int a, int b) { return (a + 3 * b) / 4; };
      return pixel(QColor(mix(c.red(), surface.red()), mix(c.green(), surface.green()), mix(c.blue(), surface.blue())));
    };
    dimmed[group] = {mixed(grounds[group].pixel), mixed(grounds[group].ink), grounds[group].pattern};
  }
}

const Ground& Scene::name_ground(model::StringId name) const {
  const Text& text = session.document()->text();
  if (name_grounds_.empty()) name_grounds_.resize(text.string_begin.size());
  Ground& ground = name_grounds_[name.value];
  if (ground.pixel == 0) {
    const SearchResult* wanted = session.found().get();
    const bool is_dimmed = wanted != nullptr && wanted->is_name[name.value] == 0;
    const QColor color = is_dimmed ? theme().grid : theme().name(text.string(name));
    ground = {pixel(color), pixel(color.darker(125)), picture::Pattern::plain};
  }
  return ground;
}

ImageSurface::ImageSurface(QImage& image)
    : Surface(image.devicePixelRatio()),
      // Comes before the painter, because bits() copies the image if a painter is active.
      canvas_{reinterpret_cast<picture::Pixel*>(image.bits()), image.width(), image.height(),
              static_cast<int>(image.bytesPerLine() / 4)},
      painter_(&image) {}

void ImageSurface::fill(const QRect& r, const Ground& ground) {
  canvas_.fill(r.left(), r.top(), r.right() + 1, r.bottom() + 1, ground.pixel, ground.pattern, ground.ink);
}

void PainterSurface::fill(const QRect& r, const Ground& ground) {
  painter_.fillRect(r, QColor(ground.pixel));
  // Qt's nearest to the patterns of canvas.h.
  constexpr Qt::BrushStyle kStyles[] = {Qt::NoBrush,          Qt::BDiagPattern, Qt::FDiagPattern, Qt::Dense6Pattern,
                                        Qt::DiagCrossPattern, Qt::HorPattern,   Qt::VerPattern,   Qt::Dense4Pattern};
  if (ground.pattern == picture::Pattern::plain || r.width() < 3 || r.height() < 3) return;
  painter_.fillRect(r, QBrush(QColor(ground.ink), kStyles[static_cast<size_t>(ground.pattern)]));
}

}  // namespace tapelens::gui
