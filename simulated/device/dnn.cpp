// cuDNN: handles, descriptors, and the functions outside of its graph interface. --cudnn-workspace sets the workspaces:
// only the real library knows its own sizes. Without it, that of these functions is 0: PyTorch calls them for CTC
// losses.
#include "simulated/device/dnn.h"

#include <cstdlib>
#include <cstring>

#include "simulated/device/streams.h"

namespace tapelens::simulated {

size_t dnn_width(int type) {
  switch (type) {
    case 1:  // double
    case 10:
      return 8;  // int64
    case 0:
    case 4:
      return 4;
    case 2:
    case 9:
      return 2;
    default:
      return 1;
  }
}

}  // namespace tapelens::simulated

using namespace tapelens::simulated;

namespace {

struct DnnHandle {
  void* stream;
};

int make(void** to, size_t bytes) {
  *to = handle_memory(bytes);
  return kDnnSuccess;
}

int end(void* what) {
  free(what);
  return kDnnSuccess;
}

// The only algorithm, as cudnnConvolution*AlgoPerf_t: 48 bytes, with `memory` at 16.
int one_algorithm(int wanted, int* got, void* to) {
  *got = wanted > 0 ? 1 : 0;
  if (*got == 0) return kDnnSuccess;
  const size_t workspace = dnn_workspace(0);
  std::memset(to, 0, 48);
  std::memcpy(static_cast<char*>(to) + 16, &workspace, sizeof(workspace));
  return kDnnSuccess;
}

}  // namespace

TAPELENS_CUDA size_t cudnnGetVersion() { return settings().cudnn; }
TAPELENS_CUDA size_t cudnnGetCudartVersion() { return settings().cuda; }

TAPELENS_CUDA int cudnnGetProperty(int which, int* to) {
  const uint64_t version = settings().cudnn;
  const uint64_t parts[] = {version / 10000, version / 100 % 100, version % 100};
  if (which < 0 || which > 2) return kDnnBadParameter;
  *to = static_cast<int>(parts[which]);
  return kDnnSuccess;
}

TAPELENS_CUDA const char* cudnnGetErrorString(int status) {
  switch (status) {
    case kDnnSuccess:
      return "CUDNN_STATUS_SUCCESS";
    case kDnnBadParameter:
      return "CUDNN_STATUS_BAD_PARAM";
    case kDnnNotSupported:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
      return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

TAPELENS_CUDA void cudnnGetLastErrorString(char* text, size_t room) {
  if (room > 0) *text = '\0';
}

TAPELENS_CUDA int cudnnCreate(void** handle) {
  begin_context(current_device());
  return make(handle, sizeof(DnnHandle));
}
TAPELENS_CUDA int cudnnDestroy(void* handle) { return end(handle); }
TAPELENS_CUDA int cudnnSetStream(void* handle, void* stream) {
  count_node(stream);  // set before each call, as for cuBLAS
  static_cast<DnnHandle*>(handle)->stream = stream;
  return kDnnSuccess;
}
TAPELENS_CUDA int cudnnGetStream(void* handle, void** stream) {
  *stream = static_cast<DnnHandle*>(handle)->stream;
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnCreateTensorDescriptor(void** to) { return make(to, sizeof(TensorDescriptor)); }
TAPELENS_CUDA int cudnnDestroyTensorDescriptor(void* what) { return end(what); }
TAPELENS_CUDA int cudnnCreateFilterDescriptor(void** to) { return make(to, sizeof(TensorDescriptor)); }
TAPELENS_CUDA int cudnnDestroyFilterDescriptor(void* what) { return end(what); }

TAPELENS_CUDA int cudnnSetTensorNdDescriptor(void* to, int type, int dimensions, const int* sizes, const int* strides) {
  if (dimensions < 0 || dimensions > kMostDimensions) return kDnnNotSupported;
  auto* tensor = static_cast<TensorDescriptor*>(to);
  tensor->type = type;
  tensor->dimensions = dimensions;
  std::memcpy(tensor->sizes, sizes, static_cast<size_t>(dimensions) * sizeof(int));
  std::memcpy(tensor->strides, strides, static_cast<size_t>(dimensions) * sizeof(int));
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetTensorNdDescriptor(const void* of, int wanted, int* type, int* dimensions, int* sizes,
                                             int* strides) {
  const auto* tensor = static_cast<const TensorDescriptor*>(of);
  if (type != nullptr) *type = tensor->type;
  if (dimensions != nullptr) *dimensions = tensor->dimensions;
  for (int i = 0; i < wanted && i < tensor->dimensions; ++i) {
    if (sizes != nullptr) sizes[i] = tensor->sizes[i];
    if (strides != nullptr) strides[i] = tensor->strides[i];
  }
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnSetFilterNdDescriptor(void* to, int type, int format, int dimensions, const int* sizes) {
  if (dimensions < 0 || dimensions > kMostDimensions) return kDnnNotSupported;
  auto* filter = static_cast<TensorDescriptor*>(to);
  filter->type = type;
  filter->format = format;
  filter->dimensions = dimensions;
  std::memcpy(filter->sizes, sizes, static_cast<size_t>(dimensions) * sizeof(int));
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetFilterNdDescriptor(const void* of, int wanted, int* type, int* format, int* dimensions,
                                             int* sizes) {
  if (format != nullptr) *format = static_cast<const TensorDescriptor*>(of)->format;
  return cudnnGetTensorNdDescriptor(of, wanted, type, dimensions, sizes, nullptr);
}

#define TAPELENS_DESCRIPTOR(name)                                                      \
  TAPELENS_CUDA int cudnnCreate##name##Descriptor(void** to) { return make(to, 256); } \
  TAPELENS_CUDA int cudnnDestroy##name##Descriptor(void* what) { return end(what); }
TAPELENS_DESCRIPTOR(Convolution)
TAPELENS_DESCRIPTOR(Activation)
TAPELENS_DESCRIPTOR(Pooling)
TAPELENS_DESCRIPTOR(Dropout)
TAPELENS_DESCRIPTOR(CTCLoss)
TAPELENS_DESCRIPTOR(SpatialTransformer)
#undef TAPELENS_DESCRIPTOR

// One generator state of 24 bytes for each thread that the GPU can hold: as on an H100 with cuDNN 9.
TAPELENS_CUDA int cudnnDropoutGetStatesSize(void*, size_t* bytes) {
  *bytes = settings().processors * settings().threads_per_processor * 24;
  return kDnnSuccess;
}

#define TAPELENS_CONVOLUTION(direction)                                                                         \
  TAPELENS_CUDA int cudnnGetConvolution##direction##WorkspaceSize(void*, void*, void*, void*, void*, int,       \
                                                                  size_t* bytes) {                              \
    *bytes = dnn_workspace(0);                                                                                  \
    return kDnnSuccess;                                                                                         \
  }                                                                                                             \
  TAPELENS_CUDA int cudnnGetConvolution##direction##Algorithm_v7(void*, void*, void*, void*, void*, int wanted, \
                                                                 int* got, void* to) {                          \
    return one_algorithm(wanted, got, to);                                                                      \
  }                                                                                                             \
  TAPELENS_CUDA int cudnnFindConvolution##direction##AlgorithmEx(                                               \
      void*, void*, void*, void*, void*, void*, void*, void*, int wanted, int* got, void* to, void*, size_t) {  \
    return one_algorithm(wanted, got, to);                                                                      \
  }
TAPELENS_CONVOLUTION(Forward)
TAPELENS_CONVOLUTION(BackwardData)
TAPELENS_CONVOLUTION(BackwardFilter)
#undef TAPELENS_CONVOLUTION

TAPELENS_CUDA int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*, void*, void*, void*,
                                                                           void*, size_t* bytes) {
  *bytes = 0;
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*, size_t* bytes) {
  *bytes = 0;
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*, void*, void*, void*,
                                                                    void*, void*, size_t* bytes) {
  *bytes = 0;
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetCTCLossWorkspaceSize(void*, void*, void*, const int*, const int*, const int*, int, void*,
                                               size_t* bytes) {
  *bytes = dnn_workspace(0);
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetCTCLossWorkspaceSize_v8(void*, int, void*, void*, void*, size_t* bytes) {
  *bytes = dnn_workspace(0);
  return kDnnSuccess;
}
