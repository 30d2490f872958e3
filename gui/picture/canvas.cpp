#include "gui/picture/canvas.h"

#include <algorithm>

namespace tapelens::picture {

bool is_ink(Pattern pattern, int x, int y) {
  switch (pattern) {
    case Pattern::plain:
      return false;
    case Pattern::rising:
      return ((x + y) & 7) == 0;
    case Pattern::falling:
      return ((x - y) & 7) == 0;
    case Pattern::dots:
      return (x & 3) == 0 && (y & 3) == 0 && (((x + y) >> 2) & 1) == 0;
    case Pattern::crosses:
      return ((x + y) & 15) == 0 || ((x - y) & 15) == 0;
    case Pattern::level:
      return (y & 7) == 0;
    case Pattern::upright:
      return (x & 7) == 0;
    case Pattern::hatched:
      return ((x - y) & 3) == 0;
  }
  return false;
}

void Canvas::fill(int x0, int y0, int x1, int y1, Pixel ground, Pattern pattern, Pixel ink) const {
  x0 = std::max(x0, 0);
  y0 = std::max(y0, 0);
  x1 = std::min(x1, width);
  y1 = std::min(y1, height);
  if (x0 >= x1) return;
  if (x1 - x0 <= 2) {
    Pixel* at = pixels + static_cast<int64_t>(y0) * stride;
    for (int y = y0; y < y1; ++y, at += stride) {
      for (int x = x0; x < x1; ++x) at[x] = pattern != Pattern::plain && is_ink(pattern, x, y) ? ink : ground;
    }
    return;
  }
  for (int y = y0; y < y1; ++y) {
    Pixel* row = pixels + static_cast<int64_t>(y) * stride;
    std::fill(row + x0, row + x1, ground);
    if (pattern == Pattern::plain) continue;
    // Every pattern repeats after 16 columns.
    for (int phase = 0; phase < 16 && x0 + phase < x1; ++phase) {
      if (!is_ink(pattern, x0 + phase, y)) continue;
      for (int x = x0 + phase; x < x1; x += 16) row[x] = ink;
    }
  }
}

}  // namespace tapelens::picture
