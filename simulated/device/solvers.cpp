// cuSOLVER and cuFFT: handles, and workspaces. The real libraries' workspace sizes are not published: here they are the
// size of the matrix or less. Nothing is solved. docs/simulated-gpu.md describes this.
#include <cstdlib>
#include <cstring>

#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

int make(void** to) {
  *to = handle_memory(64);
  return 0;
}

int end(void* what) {
  free(what);
  return 0;
}

// Number of elements: n x n.
int elements(int64_t n, int* to) {
  const int64_t square = n * n;
  *to = square < INT32_MAX ? static_cast<int>(square > 0 ? square : 1) : INT32_MAX;
  return 0;
}

// Bytes of n x n elements of cudaDataType: at most 16 each.
int bytes(int64_t n, size_t* on_device, size_t* on_host) {
  *on_device = static_cast<size_t>(n > 0 ? n * n : 1) * 16;
  *on_host = 0;
  return 0;
}

}  // namespace

TAPELENS_CUDA int cusolverDnCreate(void** handle) { return make(handle); }
TAPELENS_CUDA int cusolverDnDestroy(void* handle) { return end(handle); }
TAPELENS_CUDA int cusolverDnCreateParams(void** params) { return make(params); }
TAPELENS_CUDA int cusolverDnDestroyParams(void* params) { return end(params); }
TAPELENS_CUDA int cusolverDnCreateGesvdjInfo(void** info) { return make(info); }
TAPELENS_CUDA int cusolverDnDestroyGesvdjInfo(void* info) { return end(info); }
TAPELENS_CUDA int cusolverDnCreateSyevjInfo(void** info) { return make(info); }
TAPELENS_CUDA int cusolverDnDestroySyevjInfo(void* info) { return end(info); }

// The functions for one element type, named by its letter: those for real and complex types differ in some names.
#define TAPELENS_SOLVER(letter, q, syevd, syevj)                                                                      \
  TAPELENS_CUDA int cusolverDn##letter##potrf_bufferSize(void*, int, int n, void*, int, int* to) {                    \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##getrf_bufferSize(void*, int, int n, void*, int, int* to) {                    \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##geqrf_bufferSize(void*, int, int n, void*, int, int* to) {                    \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##q##gqr_bufferSize(void*, int, int n, int, const void*, int, const void*,      \
                                                          int* to) {                                                  \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##q##mqr_bufferSize(void*, int, int, int, int n, int, const void*, int,         \
                                                          const void*, const void*, int, int* to) {                   \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##sytrf_bufferSize(void*, int n, void*, int, int* to) {                         \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##gesvd_bufferSize(void*, int, int n, int* to) { return elements(n, to); }      \
  TAPELENS_CUDA int cusolverDn##letter##gesvdj_bufferSize(void*, int, int, int, int n, const void*, int, const void*, \
                                                          const void*, int, const void*, int, int* to, void*) {       \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##gesvdjBatched_bufferSize(void*, int, int, int n, const void*, int,            \
                                                                 const void*, const void*, int, const void*, int,     \
                                                                 int* to, void*, int) {                               \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##gesvdaStridedBatched_bufferSize(                                              \
      void*, int, int, int, int n, const void*, int, long long, const void*, long long, const void*, int, long long,  \
      const void*, int, long long, int* to, int) {                                                                    \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##syevd##_bufferSize(void*, int, int, int n, const void*, int, const void*,     \
                                                           int* to) {                                                 \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##syevj##_bufferSize(void*, int, int, int n, const void*, int, const void*,     \
                                                           int* to, void*) {                                          \
    return elements(n, to);                                                                                           \
  }                                                                                                                   \
  TAPELENS_CUDA int cusolverDn##letter##syevj##Batched_bufferSize(void*, int, int, int n, const void*, int,           \
                                                                  const void*, int* to, void*, int) {                 \
    return elements(n, to);                                                                                           \
  }
TAPELENS_SOLVER(S, or, syevd, syevj)
TAPELENS_SOLVER(D, or, syevd, syevj)
TAPELENS_SOLVER(C, un, heevd, heevj)
TAPELENS_SOLVER(Z, un, heevd, heevj)
#undef TAPELENS_SOLVER

TAPELENS_CUDA int cusolverDnXpotrf_bufferSize(void*, void*, int, int64_t n, int, const void*, int64_t, int,
                                              size_t* on_device, size_t* on_host) {
  return bytes(n, on_device, on_host);
}

TAPELENS_CUDA int cusolverDnXgeqrf_bufferSize(void*, void*, int64_t, int64_t n, int, const void*, int64_t, int,
                                              const void*, int, size_t* on_device, size_t* on_host) {
  return bytes(n, on_device, on_host);
}

TAPELENS_CUDA int cusolverDnXsyevd_bufferSize(void*, void*, int, int, int64_t n, int, const void*, int64_t, int,
                                              const void*, int, size_t* on_device, size_t* on_host) {
  return bytes(n, on_device, on_host);
}

TAPELENS_CUDA int cusolverDnXsyevBatched_bufferSize(void*, void*, int, int, int64_t n, int, const void*, int64_t, int,
                                                    const void*, int, size_t* on_device, size_t* on_host, int64_t) {
  return bytes(n, on_device, on_host);
}

TAPELENS_CUDA int cusolverDnXgeev_bufferSize(void*, void*, int, int, int64_t n, int, const void*, int64_t, int,
                                             const void*, int, const void*, int64_t, int, const void*, int64_t, int,
                                             size_t* on_device, size_t* on_host) {
  return bytes(n, on_device, on_host);
}

TAPELENS_CUDA int cusolverDnXsytrs_bufferSize(void*, int, int64_t n, int64_t, int, const void*, int64_t, const int64_t*,
                                              int, void*, int64_t, size_t* on_device, size_t* on_host) {
  return bytes(n, on_device, on_host);
}

TAPELENS_CUDA int cufftCreate(int* plan) {
  static int made = 0;
  *plan = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  return 0;
}

TAPELENS_CUDA int cufftXtMakePlanMany(int, int, long long*, long long*, long long, long long, int, long long*,
                                      long long, long long, int, long long, size_t* workspace, int) {
  *workspace = 0;
  return 0;
}

TAPELENS_CUDA int cufftGetVersion(int* version) {
  *version = static_cast<int>(settings().cuda / 1000 - 1) * 1000;  // CUDA 13 comes with cuFFT 12
  return 0;
}
