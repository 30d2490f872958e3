// What the lanes of one frame share: what is looked at, the axis, and the columns of the curve.
#pragma once

#include <QColor>
#include <QRect>
#include <array>
#include <vector>

#include "gui/models/session.h"
#include "gui/timeline/surface.h"

namespace tapelens::gui {

struct Scene {
  // `pictures`: the columns that the lanes' pictures take of the widget, in device independent pixels.
  Scene(const Session& session, int left, int width, double ratio);

  const Session& session;
  const Subject& subject;
  int left, width;
  picture::TimeAxis axis;  // in pixels of the device
  const picture::Curve& curve;
  std::vector<picture::Column> columns;
  std::vector<Bytes> lowered;  // without what is ticked; empty: nothing is
  std::vector<Bytes> found;    // of what the search finds; empty: nothing is searched for
  // Of a device that tells of blocks; empty: it does not, or nothing ever waited, or what is reserved is not known.
  std::vector<Bytes> allocated, active, reserved;
  Bytes top;  // of the lane of the curve
  std::array<Ground, picture::Grouping::kGroups> grounds, dimmed;

  const Ground& name_ground(model::StringId name) const;  // of modules, operators and nodes

  double x_of(Time time) const { return left + axis.x_of(time) / ratio; }  // device independent
  double ratio;

 private:
  mutable std::vector<Ground> name_grounds_;  // by string; pixel 0: not asked for yet
};

picture::Pixel pixel(const QColor& color);

// The largest of all curves of a device.
Bytes highest_of(const Subject& subject);
// The curve for the grouping that is chosen, or that of the categories until it is there.
const picture::Curve& curve_of(const Session& session, const Subject& subject);
QColor group_color(peak::By by, uint8_t group);
Ground group_ground(peak::By by, uint8_t group);
QString group_label(const picture::Grouping& grouping, uint8_t group);

// ---- the lanes: each fills `lane`, device independent
void paint_axis(Surface& surface, const Scene& scene, const QRect& lane);
void paint_bands(Surface& surface, const Scene& scene, const QRect& lane);
void paint_curve(Surface& surface, const Scene& scene, const QRect& lane);
// The line at the top of the lane that stands for small allocations which are not shown is so high.
inline constexpr int kSmallLine = 2;
void paint_blocks(Surface& surface, const Scene& scene, const picture::ByteAxis& bytes, const QRect& lane);
void paint_track(Surface& surface, const Scene& scene, const picture::Track& track, const QRect& lane, int row_height);
// The whole recording; what is shown of it is marked by whoever paints over it.
// `most`: its columns, worked out if there are not as many as the lane is wide.
void paint_minimap(Surface& surface, const Session& session, const QRect& lane, std::vector<Bytes>& most);
// The curve of a subject that is not looked at.
void paint_other_curve(Surface& surface, const Scene& scene, const Subject& other, const QRect& lane);

}  // namespace tapelens::gui
