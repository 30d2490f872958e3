// The lanes of one frame: the surface that they fill, the data that they share (the view, the axis, the columns of the
// curve), and their tool tips.
#pragma once

#include <QColor>
#include <QImage>
#include <QPainter>
#include <QRect>
#include <QString>
#include <array>
#include <vector>

#include "gui/models/session.h"
#include "gui/picture/canvas.h"

namespace tapelens::gui {

// The target of lanes: rectangles in device pixels, and a painter for text.
struct Ground {
  picture::Pixel pixel = 0, ink = 0;
  picture::Pattern pattern = picture::Pattern::plain;
};

class Surface {
 public:
  explicit Surface(double ratio) : ratio_(ratio) {}
  virtual ~Surface() = default;
  virtual void fill(const QRect& rectangle, const Ground& ground) = 0;
  virtual QPainter& painter() = 0;  // in device independent pixels

  double ratio() const { return ratio_; }  // device pixels for each device independent one
  int device(double at) const { return static_cast<int>(at * ratio_ + 0.5); }
  QRect device(const QRect& r) const {
    return {QPoint(device(r.left()), device(r.top())),
            QPoint(device(r.left() + r.width()) - 1, device(r.top() + r.height()) - 1)};
  }

 private:
  double ratio_;
};

// Pixels of an image: the fast target, for frames.
class ImageSurface final : public Surface {
 public:
  explicit ImageSurface(QImage& image);
  void fill(const QRect& rectangle, const Ground& ground) override;
  QPainter& painter() override { return painter_; }

 private:
  picture::Canvas canvas_;
  QPainter painter_;
};

// Any painter, for vector pictures: SVG, PDF.
class PainterSurface final : public Surface {
 public:
  explicit PainterSurface(QPainter& painter) : Surface(1), painter_(painter) {}
  void fill(const QRect& rectangle, const Ground& ground) override;
  QPainter& painter() override { return painter_; }

 private:
  QPainter& painter_;
};

struct Scene {
  // `left` and `width`: the columns of the widget for the lanes' pictures, in device independent pixels.
  Scene(const Session& session, int left, int width, double ratio);

  const Session& session;
  const Subject& subject;
  int left, width;
  picture::TimeAxis axis;  // in pixels of the device
  const picture::Curve& curve;
  std::vector<picture::PixelColumn> columns;
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
// The pauses that the axis draws narrow: a band from `top` to `bottom`, over the lanes, and its length on the axis.
void paint_breaks(QPainter& painter, const Scene& scene, const QRect& axis, int top, int bottom);
// The axis of the whole recording, in pixels of the device.
picture::TimeAxis minimap_axis(const Session& session, int width, double ratio);
// Paints the whole recording; the caller marks the shown range.
// `most`: the columns, recomputed if their number is not the lane's width.
void paint_minimap(Surface& surface, const Session& session, const QRect& lane, std::vector<Bytes>& most);
// Paints the curve of another subject than the current one.
void paint_other_curve(Surface& surface, const Scene& scene, const Subject& other, const QRect& lane);

// ---- tool tips, as rich text
QString allocation_tip(const Session& session, AllocationId allocation);
QString small_tip(const Subject& subject);  // tip of the line that indicates small allocations
QString column_tip(const Scene& scene, size_t column);
QString break_tip(const Scene& scene, int column);  // empty: no pause
QString subject_tip(const Subject& subject);        // tip of a subject that is not the current one
QString out_of_memory_tip(const Session& session, model::OutOfMemoryId request);
QString step_tip(const Session& session, const Interval& step, Time time);
QString span_tip(const Session& session, uint32_t span);

}  // namespace tapelens::gui
