// Estimates of cuDNN's workspaces, from an H100 with cuDNN 9, PyTorch 2.11, CUDA 13 (bench/on_gpu.sh, part
// `workspaces`: 50 convolutions in three dtypes; docs/simulated-gpu.md has what it deviates). Uses only libc.
#pragma once

#include <cstdint>

namespace tapelens::simulated {

// Fused attention, forward and backward, has a workspace of this size.
inline constexpr uint64_t kAttentionWorkspace = 256;

enum class Pass : uint8_t { forward, data, filter };  // `data`, `filter`: the gradients of the input and of the filter
enum class Element : uint8_t { float32, float16, bfloat16, other };

struct Convolution {
  static constexpr int kMost = 8;  // CUDNN_DIM_MAX
  Pass pass = Pass::forward;
  Element element = Element::float32;
  int dimensions = 0;  // batch, channels, then the spatial ones
  // Counts of elements. For a transposed convolution PyTorch calls `data`: the input is its result.
  int64_t input[kMost] = {}, filter[kMost] = {}, output[kMost] = {};
  int64_t strides[kMost] = {}, paddings[kMost] = {};  // of each spatial dimension
  bool is_channels_last = false;                      // input and output
};

// Bytes. The kernels with tensor cores want channels last: the workspace has the input, the filter and the output in
// that order, with channels padded to a multiple of 4 (float16) or 8 (bfloat16). Convolutions that need none of these
// copies get 0: depthwise, and those of single pixels, which are products.
uint64_t workspace_of(const Convolution& convolution);

}  // namespace tapelens::simulated
