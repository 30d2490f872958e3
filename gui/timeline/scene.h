// The data that the lanes of one frame share: the view, the axis, and the columns of the curve.
#pragma once

#include <QColor>
#include <QRect>
#include <array>
#include <vector>

#include "gui/models/session.h"
#include "gui/timeline/surface.h"

namespace tapelens::gui {

struct Scene {
  // `left` and `width`: the columns of the widget for the lanes' pictures, in device independent pixels.
  Scene(const Session& session, int left, int width, double ratio);

  const Session& session;
  const Subject& subject;
  int left, width;
  picture::TimeAxis axis;  // in pixels of the device
  const picture::Curve& curve;
  std::vector<picture::Column> columns;
  std::vector<Bytes> lowered;  // without the ticked findings; empty: none is ticked
  std::vector<Bytes> found;    // bytes of the search results; empty: no search
  // Of devices with block events. Empty: no such events, no block ever waited, or the reserved bytes are unknown.
  std::vector<Bytes> allocated, active, reserved;
  Bytes top;  // top of the curve's lane
  std::array<Ground, picture::Grouping::kGroups> grounds, dimmed;

  const Ground& name_ground(model::StringId name) const;  // color of a module, an operator or a node

  double x_of(Time time) const { return left + axis.x_of(time) / ratio; }  // device independent
  double ratio;

 private:
  mutable std::vector<Ground> name_grounds_;  // by string; pixel 0: not computed yet
};

picture::Pixel pixel(const QColor& color);

// The largest value of all curves of a device.
Bytes highest_of(const Subject& subject);
// The curve of the selected grouping, or that of the categories until it is computed.
const picture::Curve& curve_of(const Session& session, const Subject& subject);
QColor group_color(peak::By by, uint8_t group);
Ground group_ground(peak::By by, uint8_t group);
QString group_label(const picture::Grouping& grouping, uint8_t group);

// ---- the lanes: each fills `lane`, in device independent pixels
void paint_axis(Surface& surface, const Scene& scene, const QRect& lane);
void paint_bands(Surface& surface, const Scene& scene, const QRect& lane);
void paint_curve(Surface& surface, const Scene& scene, const QRect& lane);
// The height of the line at the top of the lane, which indicates small allocations that are not shown.
inline constexpr int kSmallLine = 2;
void paint_blocks(Surface& surface, const Scene& scene, const picture::ByteAxis& bytes, const QRect& lane);
void paint_track(Surface& surface, const Scene& scene, const picture::Track& track, const QRect& lane, int row_height);
// Paints the whole recording; the caller marks the shown range.
// `most`: the columns, recomputed if their number is not the lane's width.
void paint_minimap(Surface& surface, const Session& session, const QRect& lane, std::vector<Bytes>& most);
// Paints the curve of another subject than the current one.
void paint_other_curve(Surface& surface, const Scene& scene, const Subject& other, const QRect& lane);

}  // namespace tapelens::gui
