// The estimates of cuDNN's workspaces beside the requests on an H100 (bench/results/h100/on-gpu-first.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "simulated/convolutions/workspace.h"

namespace tapelens::simulated {
namespace {

using Sizes = std::initializer_list<int64_t>;

Convolution convolution(Sizes input, Sizes filter, int64_t stride, int64_t padding, Element element,
                        Pass pass = Pass::forward) {
  Convolution made;
  made.pass = pass;
  made.element = element;
  made.dimensions = static_cast<int>(input.size());
  std::ranges::copy(input, made.input);
  std::ranges::copy(filter, made.filter);
  made.output[0] = made.input[0];
  made.output[1] = made.filter[0];
  for (int i = 2; i < made.dimensions; ++i) {
    made.strides[i - 2] = stride;
    made.paddings[i - 2] = padding;
    made.output[i] = (made.input[i] + 2 * padding - made.filter[i]) / stride + 1;
  }
  return made;
}

struct Measured {
  Convolution convolution;
  uint64_t bytes;
};

const std::array kForward{
    // ResNet-50: the first layer in three dtypes, whose channels are padded; 3x3; 1x1 with a stride; 1x1 of 7x7 pixels.
    Measured{convolution({32, 3, 224, 224}, {64, 3, 7, 7}, 2, 3, Element::float32), 122065680},
    Measured{convolution({32, 3, 224, 224}, {64, 3, 7, 7}, 2, 3, Element::float16), 64250384},
    Measured{convolution({32, 3, 224, 224}, {64, 3, 7, 7}, 2, 3, Element::bfloat16), 77120528},
    Measured{convolution({32, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, Element::float16), 25763987},
    Measured{convolution({32, 128, 28, 28}, {128, 128, 3, 3}, 1, 1, Element::float32), 26279952},
    Measured{convolution({32, 1024, 14, 14}, {2048, 1024, 1, 1}, 2, 0, Element::float32), 38535184},
    Measured{convolution({32, 512, 7, 7}, {2048, 512, 1, 1}, 1, 0, Element::bfloat16), 8028176},
    // A U-Net, a convolution of volumes.
    Measured{convolution({8, 320, 64, 64}, {320, 320, 3, 3}, 1, 1, Element::bfloat16), 43786387},
    Measured{convolution({4, 64, 16, 56, 56}, {64, 64, 3, 3, 3}, 1, 1, Element::float16), 51601555},
};

TEST(ConvolutionWorkspaces, OfAForwardAreCopiesWithChannelsLast) {
  for (const Measured& measured : kForward) {
    const auto found = static_cast<double>(workspace_of(measured.convolution));
    EXPECT_NEAR(found / static_cast<double>(measured.bytes), 1, 1e-4) << measured.bytes;
  }
}

TEST(ConvolutionWorkspaces, AreNoneWithoutCopies) {
  const auto none = [](const Convolution& c) { EXPECT_EQ(workspace_of(c), 0U); };
  none(convolution({64, 960, 7, 7}, {960, 1, 5, 5}, 1, 2, Element::float16));     // depthwise
  none(convolution({32, 64, 56, 56}, {256, 64, 1, 1}, 1, 0, Element::bfloat16));  // a product
  none(convolution({64, 960, 1, 1}, {240, 960, 1, 1}, 1, 0, Element::float32));   // squeeze and excite
  none(convolution({16, 3, 224, 224}, {64, 3, 3, 3}, 1, 1, Element::float32));    // VGG-16
  Convolution last = convolution({32, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, Element::bfloat16);
  last.is_channels_last = true;
  none(last);
  none(convolution({32, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, Element::other));  // double
}

TEST(ConvolutionWorkspaces, OfAFilterHaveItsPartialSums) {
  const auto near = [](const Convolution& c, double bytes) {
    EXPECT_NEAR(static_cast<double>(workspace_of(c)) / bytes, 1, 0.01) << bytes;
  };
  near(convolution({32, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, Element::float16, Pass::filter), 27681447);
  near(convolution({16, 128, 112, 112}, {128, 128, 3, 3}, 1, 1, Element::float16, Pass::filter), 110723751);
  near(convolution({32, 256, 14, 14}, {256, 256, 3, 3}, 1, 1, Element::float16, Pass::filter), 7602192);
  near(convolution({32, 256, 56, 56}, {128, 256, 1, 1}, 1, 0, Element::bfloat16, Pass::filter), 4194304);
}

}  // namespace
}  // namespace tapelens::simulated
