// The target of lanes: rectangles in device pixels, and a painter for text.
#pragma once

#include <QImage>
#include <QPainter>
#include <QRect>

#include "gui/picture/canvas.h"

namespace tapelens::gui {

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

}  // namespace tapelens::gui
