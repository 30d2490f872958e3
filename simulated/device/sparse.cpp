// cuSPARSE: descriptors, and workspaces of size 0, because the real sizes are not published. Sparse results have as
// many elements as their descriptor says: the requested number, or 0.
#include <cstdlib>
#include <cstring>

#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

struct SparseMatrix {
  int64_t rows, columns, elements;
};

int make(void** to, size_t bytes = 256) {
  *to = handle_memory(bytes);
  return 0;
}

int end(const void* what) {
  free(const_cast<void*>(what));
  return 0;
}

int make_matrix(void** to, int64_t rows, int64_t columns, int64_t elements) {
  auto* matrix = make_handle<SparseMatrix>();
  *matrix = {rows, columns, elements};
  *to = matrix;
  return 0;
}

template <class Size>
int nothing(Size* to) {
  if (to != nullptr) *to = 0;
  return 0;
}

}  // namespace

TAPELENS_CUDA int cusparseCreate(void** handle) { return make(handle); }
TAPELENS_CUDA int cusparseDestroy(void* handle) { return end(handle); }
TAPELENS_CUDA int cusparseCreateMatDescr(void** to) { return make(to); }
TAPELENS_CUDA int cusparseDestroyMatDescr(void* what) { return end(what); }
TAPELENS_CUDA int cusparseCreateBsrsv2Info(void** to) { return make(to); }
TAPELENS_CUDA int cusparseDestroyBsrsv2Info(void* what) { return end(what); }
TAPELENS_CUDA int cusparseCreateBsrsm2Info(void** to) { return make(to); }
TAPELENS_CUDA int cusparseDestroyBsrsm2Info(void* what) { return end(what); }
TAPELENS_CUDA int cusparseSpSV_createDescr(void** to) { return make(to); }
TAPELENS_CUDA int cusparseSpSV_destroyDescr(void* what) { return end(what); }
TAPELENS_CUDA int cusparseSpSM_createDescr(void** to) { return make(to); }
TAPELENS_CUDA int cusparseSpSM_destroyDescr(void* what) { return end(what); }
TAPELENS_CUDA int cusparseSpGEMM_createDescr(void** to) { return make(to); }
TAPELENS_CUDA int cusparseSpGEMM_destroyDescr(void* what) { return end(what); }
TAPELENS_CUDA const char* cusparseGetErrorString(int status) { return status == 0 ? "success" : "the request failed"; }
TAPELENS_CUDA const char* cusparseGetErrorName(int status) {
  return status == 0 ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS_INTERNAL_ERROR";
}

TAPELENS_CUDA int cusparseCreateCsr(void** to, int64_t rows, int64_t columns, int64_t elements, ...) {
  return make_matrix(to, rows, columns, elements);
}
TAPELENS_CUDA int cusparseCreateCoo(void** to, int64_t rows, int64_t columns, int64_t elements, ...) {
  return make_matrix(to, rows, columns, elements);
}
TAPELENS_CUDA int cusparseCreateDnMat(void** to, ...) { return make(to); }
TAPELENS_CUDA int cusparseCreateDnVec(void** to, ...) { return make(to); }
TAPELENS_CUDA int cusparseDestroySpMat(const void* what) { return end(what); }
TAPELENS_CUDA int cusparseDestroyDnMat(const void* what) { return end(what); }
TAPELENS_CUDA int cusparseDestroyDnVec(const void* what) { return end(what); }

TAPELENS_CUDA int cusparseSpMatGetSize(const void* what, int64_t* rows, int64_t* columns, int64_t* elements) {
  const auto* matrix = static_cast<const SparseMatrix*>(what);
  *rows = matrix->rows;
  *columns = matrix->columns;
  *elements = matrix->elements;
  return 0;
}

TAPELENS_CUDA int cusparseSpMV_bufferSize(void*, int, const void*, const void*, const void*, const void*, void*, int,
                                          int, size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseSpMM_bufferSize(void*, int, int, const void*, const void*, const void*, const void*, void*,
                                          int, int, size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseSDDMM_bufferSize(void*, int, int, const void*, const void*, const void*, const void*, void*,
                                           int, int, size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseSpSV_bufferSize(void*, int, const void*, const void*, const void*, void*, int, int, void*,
                                          size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseSpSM_bufferSize(void*, int, int, const void*, const void*, const void*, void*, int, int,
                                          void*, size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseSpGEMM_workEstimation(void*, int, int, const void*, const void*, const void*, const void*,
                                                void*, int, int, void*, size_t* to, void*) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseSpGEMM_compute(void*, int, int, const void*, const void*, const void*, const void*, void*,
                                         int, int, void*, size_t* to, void*) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseXcoosort_bufferSizeExt(void*, int, int, int, const int*, const int*, size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseXcsrsort_bufferSizeExt(void*, int, int, int, const int*, const int*, size_t* to) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseXcsrgeam2Nnz(void*, int, int, void*, int, const int*, const int*, void*, int, const int*,
                                       const int*, void*, int*, int* to, void*) {
  return nothing(to);
}
TAPELENS_CUDA int cusparseXbsrsv2_zeroPivot(void*, void*, int* position) {
  *position = -1;  // no zero pivot
  return 0;
}
TAPELENS_CUDA int cusparseXbsrsm2_zeroPivot(void*, void*, int* position) {
  *position = -1;
  return 0;
}

#define TAPELENS_SPARSE(letter)                                                                                        \
  TAPELENS_CUDA int cusparse##letter##bsrsv2_bufferSize(void*, int, int, int, int, void*, void*, const int*,           \
                                                        const int*, int, void*, int* to) {                             \
    return nothing(to);                                                                                                \
  }                                                                                                                    \
  TAPELENS_CUDA int cusparse##letter##bsrsm2_bufferSize(void*, int, int, int, int, int, int, void*, void*, const int*, \
                                                        const int*, int, void*, int* to) {                             \
    return nothing(to);                                                                                                \
  }                                                                                                                    \
  TAPELENS_CUDA int cusparse##letter##csrgeam2_bufferSizeExt(                                                          \
      void*, int, int, const void*, void*, int, const void*, const int*, const int*, const void*, void*, int,          \
      const void*, const int*, const int*, void*, const void*, const int*, const int*, size_t* to) {                   \
    return nothing(to);                                                                                                \
  }
TAPELENS_SPARSE(S)
TAPELENS_SPARSE(D)
TAPELENS_SPARSE(C)
TAPELENS_SPARSE(Z)
#undef TAPELENS_SPARSE
