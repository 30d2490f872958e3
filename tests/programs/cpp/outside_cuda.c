/* A library that allocates device memory itself, as NCCL does, without PyTorch's allocator. It neither links nor
   includes CUDA. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

static void* of_runtime(const char* name) {
  void* torch = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  void* function = torch != NULL ? dlsym(torch, name) : NULL;
  if (function == NULL) abort();
  return function;
}

static void* of_driver(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name); /* a simulated driver comes before all libraries */
  if (function == NULL) function = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), name);
  if (function == NULL) abort();
  return function;
}

typedef int (*allocate_function)(void**, size_t);
typedef int (*free_function)(void*);

void* outside_take(size_t bytes) {
  allocate_function allocate = (allocate_function)of_runtime("cudaMalloc");
  void* memory = NULL;
  /* Not a tail call, so that this library is the caller of CUDA. */
  if (allocate(&memory, bytes) != 0) return NULL;
  return memory;
}

void* outside_take_pinned(size_t bytes) {
  allocate_function allocate = (allocate_function)of_runtime("cudaMallocHost");
  void* memory = NULL;
  if (allocate(&memory, bytes) != 0) return NULL;
  return memory;
}

int outside_give_back(void* memory) { return ((free_function)of_runtime("cudaFree"))(memory); }

/* ---- physical memory, as NCCL allocates it with NCCL_CUMEM_ENABLE */

typedef unsigned long long address;

/* A multiple of 2 MiB. */
void* outside_take_physical(size_t bytes) {
  int properties[8] = {1, 0, 1, 0}; /* pinned, not shareable, on the device, number 0 */
  address where = 0, handle = 0;
  int access[3] = {1, 0, 3};
  int (*create)(address*, size_t, const void*, address) = of_driver("cuMemCreate");
  int (*reserve)(address*, size_t, size_t, address, address) = of_driver("cuMemAddressReserve");
  int (*map)(address, size_t, size_t, address, address) = of_driver("cuMemMap");
  int (*allow)(address, size_t, const void*, size_t) = of_driver("cuMemSetAccess");
  if (create(&handle, bytes, properties, 0) != 0) return NULL;
  if (reserve(&where, bytes, 0, 0, 0) != 0 || map(where, bytes, 0, handle, 0) != 0) return NULL;
  if (allow(where, bytes, access, 1) != 0) return NULL;
  return (void*)where;
}

/* The handle is looked up again and released twice, before the memory is unmapped. */
int outside_give_back_physical(void* memory, size_t bytes) {
  address handle = 0;
  int (*retain)(address*, void*) = of_driver("cuMemRetainAllocationHandle");
  int (*release)(address) = of_driver("cuMemRelease");
  int (*unmap)(address, size_t) = of_driver("cuMemUnmap");
  int (*give)(address, size_t) = of_driver("cuMemAddressFree");
  if (retain(&handle, memory) != 0 || release(handle) != 0 || release(handle) != 0) return -1;
  if (unmap((address)memory, bytes) != 0) return -1;
  return give((address)memory, bytes);
}

/* Created and never mapped. */
address outside_create(size_t bytes) {
  int properties[8] = {1, 0, 1, 0};
  address handle = 0;
  int (*create)(address*, size_t, const void*, address) = of_driver("cuMemCreate");
  return create(&handle, bytes, properties, 0) == 0 ? handle : 0;
}

/* ---- pools (cudaMallocAsync) */

enum { RELEASE_THRESHOLD = 4, RESERVED = 5, USED = 7 }; /* cudaMemPoolAttr */

void* outside_pool(int number) { /* 0: the device's pool, 1: a private pool */
  static void* own = NULL;
  void* pool = NULL;
  if (number == 0) {
    int (*standard)(void**, int) = of_runtime("cudaDeviceGetDefaultMemPool");
    return standard(&pool, 0) == 0 ? pool : NULL;
  }
  if (own == NULL) {
    int properties[32] = {1, 0, 1, 0};
    int (*make)(void**, const void*) = of_runtime("cudaMemPoolCreate");
    if (make(&own, properties) != 0) return NULL;
  }
  return own;
}

int outside_keep(void* pool, unsigned long long bytes) {
  int (*set)(void*, int, void*) = of_runtime("cudaMemPoolSetAttribute");
  return set(pool, RELEASE_THRESHOLD, &bytes);
}

int outside_trim(void* pool, size_t keep) {
  int (*trim)(void*, size_t) = of_runtime("cudaMemPoolTrimTo");
  int done = trim(pool, keep);
  return done;
}

int outside_destroy(void* pool) {
  int (*destroy)(void*) = of_runtime("cudaMemPoolDestroy");
  int done = destroy(pool);
  return done;
}

unsigned long long outside_has(void* pool, int used) {
  unsigned long long bytes = 0;
  int (*get)(void*, int, void*) = of_runtime("cudaMemPoolGetAttribute");
  return get(pool, used ? USED : RESERVED, &bytes) == 0 ? bytes : ~0ULL;
}

void* outside_take_from(void* pool, size_t bytes) {
  int (*allocate)(void**, size_t, void*, void*) = of_runtime("cudaMallocFromPoolAsync");
  void* memory = NULL;
  if (allocate(&memory, bytes, pool, NULL) != 0) return NULL;
  return memory;
}

int outside_give_back_async(void* memory) {
  int (*give)(void*, void*) = of_runtime("cudaFreeAsync");
  int done = give(memory, NULL);
  return done;
}
