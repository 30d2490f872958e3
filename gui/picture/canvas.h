// Pixels, and rectangles filled into them: what a frame of ten thousand blocks is painted with.
#pragma once

#include <cstdint>

namespace tapelens::picture {

using Pixel = uint32_t;  // 0xffRRGGBB

// What tells grounds apart without their colour.
enum class Pattern : uint8_t { plain, rising, falling, dots, crosses, level, upright, hatched };

struct Canvas {
  Pixel* pixels;
  int width, height;
  int stride;  // in pixels

  // Cut to the canvas. The pattern is in `ink`, fixed to the canvas, so that neighbours of one pattern meet.
  void fill(int x0, int y0, int x1, int y1, Pixel ground, Pattern pattern, Pixel ink) const;
};

// Whether a pixel at a place of a pattern is in ink.
bool is_ink(Pattern pattern, int x, int y);

}  // namespace tapelens::picture
