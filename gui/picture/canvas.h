// Pixels, and filled rectangles: fast enough for frames of ten thousand blocks.
#pragma once

#include <cstdint>

namespace tapelens::picture {

using Pixel = uint32_t;  // 0xffRRGGBB

// Patterns distinguish areas without color.
enum class Pattern : uint8_t { plain, rising, falling, dots, crosses, level, upright, hatched };

struct Canvas {
  Pixel* pixels;
  int width, height;
  int stride;  // in pixels

  // Clips to the canvas. The pattern is drawn in `ink` and fixed to the canvas, so that the patterns of neighbors
  // align.
  void fill(int x0, int y0, int x1, int y1, Pixel ground, Pattern pattern, Pixel ink) const;
};

// Whether a pattern has ink at a pixel.
bool is_ink(Pattern pattern, int x, int y);

}  // namespace tapelens::picture
