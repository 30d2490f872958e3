// cuBLAS and cuBLASLt: handles and versions. Products are not computed; PyTorch provides the workspaces.
#include <cstdlib>
#include <cstring>

#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

struct BlasHandle {
  void* stream;
  int math_mode, pointer_mode;
};

// The version that cublasGetVersion reports, for this CUDA version: cuBLAS 13.2 (130200) for CUDA 13.2.
int version() { return static_cast<int>(settings().cuda / 1000 * 10000 + settings().cuda % 1000 / 10 * 100); }

int make(void** to, size_t bytes) {
  *to = handle_memory(bytes);
  return 0;
}

int end(void* handle) {
  free(handle);
  return 0;
}

constexpr size_t kDescriptorBytes = 512;

}  // namespace

TAPELENS_CUDA int cublasCreate_v2(void** handle) {
  begin_context(current_device());
  *handle = make_handle<BlasHandle>();
  return 0;
}
TAPELENS_CUDA int cublasDestroy_v2(void* handle) { return end(handle); }

TAPELENS_CUDA int cublasGetVersion_v2(void*, int* to) {
  *to = version();
  return 0;
}

TAPELENS_CUDA int cublasGetProperty(int which, int* to) {
  const int parts[] = {version() / 10000, version() / 100 % 100, version() % 100};
  *to = which >= 0 && which < 3 ? parts[which] : 0;
  return 0;
}

TAPELENS_CUDA int cublasSetStream_v2(void* handle, void* stream) {
  // PyTorch calls it before each product: in a capture, the product is a node of the graph.
  count_node(stream);
  static_cast<BlasHandle*>(handle)->stream = stream;
  return 0;
}
TAPELENS_CUDA int cublasGetStream_v2(void* handle, void** stream) {
  *stream = static_cast<BlasHandle*>(handle)->stream;
  return 0;
}
TAPELENS_CUDA int cublasSetMathMode(void* handle, int mode) {
  static_cast<BlasHandle*>(handle)->math_mode = mode;
  return 0;
}
TAPELENS_CUDA int cublasGetMathMode(void* handle, int* mode) {
  *mode = static_cast<BlasHandle*>(handle)->math_mode;
  return 0;
}
TAPELENS_CUDA int cublasSetPointerMode_v2(void* handle, int mode) {
  static_cast<BlasHandle*>(handle)->pointer_mode = mode;
  return 0;
}
TAPELENS_CUDA int cublasGetPointerMode_v2(void* handle, int* mode) {
  *mode = static_cast<BlasHandle*>(handle)->pointer_mode;
  return 0;
}

TAPELENS_CUDA const char* cublasGetStatusString(int status) { return status == 0 ? "success" : "the request failed"; }
TAPELENS_CUDA const char* cublasGetStatusName(int status) {
  return status == 0 ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_INTERNAL_ERROR";
}

TAPELENS_CUDA int cublasLtCreate(void** handle) { return make(handle, sizeof(BlasHandle)); }
TAPELENS_CUDA int cublasLtDestroy(void* handle) { return end(handle); }
TAPELENS_CUDA size_t cublasLtGetVersion() { return static_cast<size_t>(version()); }
TAPELENS_CUDA size_t cublasLtGetCudartVersion() { return settings().cuda; }
TAPELENS_CUDA int cublasLtMatmulDescCreate(void** to, int, int) { return make(to, kDescriptorBytes); }
TAPELENS_CUDA int cublasLtMatmulDescDestroy(void* what) { return end(what); }
TAPELENS_CUDA int cublasLtMatrixLayoutCreate(void** to, int, uint64_t, uint64_t, int64_t) {
  return make(to, kDescriptorBytes);
}
TAPELENS_CUDA int cublasLtMatrixLayoutDestroy(void* what) { return end(what); }
TAPELENS_CUDA int cublasLtMatmulPreferenceCreate(void** to) { return make(to, kDescriptorBytes); }
TAPELENS_CUDA int cublasLtMatmulPreferenceDestroy(void* what) { return end(what); }
TAPELENS_CUDA int cublasLtMatrixTransformDescCreate(void** to, int) { return make(to, kDescriptorBytes); }
TAPELENS_CUDA int cublasLtMatrixTransformDescDestroy(void* what) { return end(what); }

TAPELENS_CUDA int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                                 const void*, void*, void*, void*, const void*, void*, size_t, void* stream) {
  count_node(stream);
  return 0;
}

// Returns one algorithm, without a workspace. cublasLtMatmulHeuristicResult_t has 96 bytes, of which only these are
// read.
TAPELENS_CUDA int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int wanted, void* to,
                                                 int* got) {
  *got = wanted > 0 ? 1 : 0;
  if (*got > 0) std::memset(to, 0, 96);
  return 0;
}
