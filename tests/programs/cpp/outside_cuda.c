/* A library that takes memory of the device itself, as NCCL does: PyTorch's allocator knows nothing of it. */
#include <dlfcn.h>
#include <stddef.h>

typedef int (*allocate_function)(void**, size_t);
typedef int (*free_function)(void*);

static void* of_runtime(const char* name) {
  void* torch = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  return torch != NULL ? dlsym(torch, name) : NULL;
}

void* outside_take(size_t bytes) {
  allocate_function allocate = (allocate_function)of_runtime("cudaMalloc");
  void* memory = NULL;
  /* Not a tail call: the caller of CUDA is this library. */
  if (allocate == NULL || allocate(&memory, bytes) != 0) return NULL;
  return memory;
}

void* outside_take_pinned(size_t bytes) {
  allocate_function allocate = (allocate_function)of_runtime("cudaMallocHost");
  void* memory = NULL;
  if (allocate == NULL || allocate(&memory, bytes) != 0) return NULL;
  return memory;
}

int outside_give_back(void* memory) {
  free_function give = (free_function)of_runtime("cudaFree");
  return give != NULL ? give(memory) : -1;
}
