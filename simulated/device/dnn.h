// Shared by cuDNN's functions: descriptors as PyTorch makes them.
#pragma once

#include <cstddef>

#include "simulated/device/state.h"

namespace tapelens::simulated {

enum DnnStatus : int { kDnnSuccess = 0, kDnnBadParameter = 2000, kDnnNotSupported = 3000 };

constexpr int kMostDimensions = 8;  // CUDNN_DIM_MAX

// A tensor or a filter.
struct TensorDescriptor {
  int type, format, dimensions;
  int sizes[kMostDimensions], strides[kMostDimensions];
};

// Bytes per element of cudnnDataType_t.
size_t dnn_width(int type);
// The value of --cudnn-workspace, else that of the estimate.
inline uint64_t dnn_workspace(uint64_t estimate) {
  return settings().cudnn_workspace == kEstimated ? estimate : settings().cudnn_workspace;
}

}  // namespace tapelens::simulated
