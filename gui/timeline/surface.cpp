#include "gui/timeline/surface.h"

namespace tapelens::gui {

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
