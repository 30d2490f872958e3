#include "simulated/convolutions/workspace.h"

namespace tapelens::simulated {
namespace {

constexpr uint64_t kAligned = 16;  // cuDNN's places in a workspace
// The gradient of a filter is summed in float32, in parts: at most so many, and so many bytes.
constexpr uint64_t kMostParts = 13, kBytesOfParts = 8400000;
constexpr uint64_t kPixelsForParts = 25000;  // fewer outputs are summed at once
constexpr uint64_t kFewProducts = 64;        // in float32, outputs that sum fewer are made without tensor cores

uint64_t width(Element element) { return element == Element::float32 ? 4 : 2; }

uint64_t padded(uint64_t channels, Element element) {
  const uint64_t multiple = element == Element::bfloat16 ? 8 : element == Element::float16 ? 4 : 1;
  return (channels + multiple - 1) / multiple * multiple;
}

uint64_t spatial(const int64_t* sizes, int dimensions) {
  uint64_t product = 1;
  for (int i = 2; i < dimensions; ++i) product *= static_cast<uint64_t>(sizes[i]);
  return product;
}

uint64_t tensor_bytes(const int64_t* sizes, const Convolution& c) {
  return static_cast<uint64_t>(sizes[0]) * padded(static_cast<uint64_t>(sizes[1]), c.element) *
         spatial(sizes, c.dimensions) * width(c.element);
}

// A product of matrices for each image.
bool is_pointwise(const Convolution& c) {
  for (int i = 2; i < c.dimensions; ++i) {
    if (c.filter[i] != 1 || c.strides[i - 2] != 1 || c.paddings[i - 2] != 0) return false;
  }
  return true;
}

// The products read channels first if their rows are aligned.
bool is_product(const Convolution& c) {
  const uint64_t pixels = spatial(c.input, c.dimensions);
  return is_pointwise(c) && (pixels == 1 || pixels % 4 == 0);
}

uint64_t parts_of_filter(const Convolution& c) {
  const uint64_t sums = static_cast<uint64_t>(c.filter[0] * c.filter[1]) * spatial(c.filter, c.dimensions) * 4;
  const auto images = static_cast<uint64_t>(c.output[0]);
  if (is_product(c)) return spatial(c.input, c.dimensions) == 1 ? 0 : images * sums;
  if (sums == 0 || images * spatial(c.output, c.dimensions) < kPixelsForParts) return 0;
  const uint64_t parts = kBytesOfParts / sums;
  return (parts < kMostParts ? parts : kMostParts) * sums;
}

}  // namespace

uint64_t workspace_of(const Convolution& c) {
  if (c.element == Element::other || c.dimensions < 3 || c.filter[1] <= 0) return 0;
  const int64_t groups = c.input[1] / c.filter[1];
  if (groups > 1 && c.filter[1] == 1) return 0;  // depthwise
  const uint64_t products = static_cast<uint64_t>(c.filter[1]) * spatial(c.filter, c.dimensions);
  if (c.element == Element::float32 && products < kFewProducts) return 0;
  const uint64_t parts = c.pass == Pass::filter ? parts_of_filter(c) : 0;
  if (c.is_channels_last || is_product(c)) return parts;
  const bool is_single = spatial(c.filter, c.dimensions) == 1;  // a filter of one pixel is the same in both orders
  return tensor_bytes(c.input, c) + tensor_bytes(c.output, c) + (is_single ? 0 : tensor_bytes(c.filter, c)) + parts +
         kAligned;
}

}  // namespace tapelens::simulated
