// The CUDA runtime: kernels, which are not executed, and the variables of their modules.
#include <cstdlib>
#include <cstring>

#include "simulated/device/memory.h"
#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

struct Dimensions {
  unsigned x, y, z;
};

struct Call {
  Dimensions grid, block;
  size_t shared;
  void* stream;
};
thread_local Call t_calls[8];  // arguments of a call may call kernels, but rarely nested deeper
thread_local unsigned t_depth = 0;

// A __device__ or __constant__ variable, which the program identifies by its host shadow.
struct Variable {
  const void* shadow;
  size_t bytes;
  void* memory;  // allocated on first use
};
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards the variables
Variable* g_variables = nullptr;
size_t g_count = 0, g_room = 0;

// Null if it is not registered.
void* memory_of(const void* shadow, size_t* bytes) {
  const Lock lock(g_mutex);
  for (size_t i = 0; i < g_count; ++i) {
    Variable& variable = g_variables[i];
    if (variable.shadow != shadow) continue;
    if (variable.memory == nullptr) variable.memory = handle_memory(variable.bytes > 0 ? variable.bytes : 1);
    if (bytes != nullptr) *bytes = variable.bytes;
    return variable.memory;
  }
  return nullptr;
}

int launched(void* stream) {
  count_node(stream);
  return kSuccess;
}

// Number of blocks of a kernel that fit on a processor, by threads and shared memory, without registers.
int blocks_that_fit(int threads, size_t shared) {
  const GpuSettings& gpu = settings();
  if (threads <= 0) return 0;
  uint64_t blocks = gpu.threads_per_processor / static_cast<uint64_t>((threads + 31) / 32 * 32);
  if (shared > 0 && gpu.shared_per_processor / shared < blocks) blocks = gpu.shared_per_processor / shared;
  if (blocks > gpu.blocks_per_processor) blocks = gpu.blocks_per_processor;
  return static_cast<int>(blocks);
}

// The architecture whose code a GPU runs: 8.9 runs code for 8.6. No PyTorch build has code for 8.9, and CUB refuses to
// sort for an architecture that it was not compiled for.
int architecture_of_code() {
  const auto own = static_cast<int>(10 * settings().major + settings().minor);
  return own == 89 ? 86 : own;
}

}  // namespace

TAPELENS_CUDA unsigned __cudaPushCallConfiguration(Dimensions grid, Dimensions block, size_t shared, void* stream) {
  t_calls[t_depth++ % 8] = {grid, block, shared, stream};
  return 0;
}

TAPELENS_CUDA int __cudaPopCallConfiguration(Dimensions* grid, Dimensions* block, size_t* shared, void* stream) {
  if (t_depth == 0) return kInvalidValue;
  const Call& call = t_calls[--t_depth % 8];
  *grid = call.grid;
  *block = call.block;
  *shared = call.shared;
  std::memcpy(stream, &call.stream, sizeof(void*));
  return kSuccess;
}

TAPELENS_CUDA int cudaLaunchKernel(const void*, Dimensions, Dimensions, void**, size_t, void* stream) {
  return launched(stream);
}

TAPELENS_CUDA int __cudaLaunchKernel(void*, Dimensions, Dimensions, void**, size_t, void* stream) {
  return launched(stream);
}

TAPELENS_CUDA int cudaLaunchCooperativeKernel(const void*, Dimensions, Dimensions, void**, size_t, void* stream) {
  return launched(stream);
}

TAPELENS_CUDA int cudaLaunchKernelExC(const void* configuration, const void*, void**) {
  struct {
    Dimensions grid, block;
    size_t shared;
    void* stream;
  } read{};  // the begin of cudaLaunchConfig_t
  std::memcpy(&read, configuration, sizeof(read));
  return launched(read.stream);
}

TAPELENS_CUDA void** __cudaRegisterFatBinary(void*) { return static_cast<void**>(handle_memory(sizeof(void*))); }
TAPELENS_CUDA void __cudaUnregisterFatBinary(void** handle) { free(handle); }

TAPELENS_CUDA void __cudaRegisterVar(void**, char* shadow, char*, const char*, int, size_t bytes, int, int) {
  const Lock lock(g_mutex);
  if (g_count == g_room) {
    g_room = g_room == 0 ? 256 : 2 * g_room;
    void* larger = std::realloc(g_variables, g_room * sizeof(Variable));
    if (larger == nullptr) abort();
    g_variables = static_cast<Variable*>(larger);
  }
  g_variables[g_count++] = {shadow, bytes, nullptr};
}

TAPELENS_CUDA char __cudaInitModule(void**) { return 1; }

TAPELENS_CUDA int __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return kSuccess;
}

TAPELENS_CUDA int cudaGetFuncBySymbol(void** function, const void* symbol) { return __cudaGetKernel(function, symbol); }
TAPELENS_CUDA int cudaGetKernel(void** kernel, const void* symbol) { return __cudaGetKernel(kernel, symbol); }

TAPELENS_CUDA int cudaGetSymbolAddress(void** memory, const void* shadow) {
  *memory = memory_of(shadow, nullptr);
  return *memory != nullptr ? kSuccess : failed(13);  // cudaErrorInvalidSymbol
}

TAPELENS_CUDA int cudaGetSymbolSize(size_t* bytes, const void* shadow) {
  return memory_of(shadow, bytes) != nullptr ? kSuccess : failed(13);
}

TAPELENS_CUDA int cudaMemcpyToSymbol(const void* shadow, const void* from, size_t bytes, size_t offset, int) {
  size_t room = 0;
  char* memory = static_cast<char*>(memory_of(shadow, &room));
  if (memory == nullptr || offset > room || bytes > room - offset) return failed(13);
  copy(memory + offset, from, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemcpyToSymbolAsync(const void* shadow, const void* from, size_t bytes, size_t offset, int kind,
                                          void* stream) {
  count_node(stream);
  return cudaMemcpyToSymbol(shadow, from, bytes, offset, kind);
}

TAPELENS_CUDA int cudaMemcpyFromSymbol(void* to, const void* shadow, size_t bytes, size_t offset, int) {
  size_t room = 0;
  const char* memory = static_cast<char*>(memory_of(shadow, &room));
  if (memory == nullptr || offset > room || bytes > room - offset) return failed(13);
  copy(to, memory + offset, bytes);
  return kSuccess;
}

// cudaFuncAttributes: a kernel of ordinary size.
TAPELENS_CUDA int cudaFuncGetAttributes(void* to, const void*) {
  struct {
    size_t shared, constant, local;
    int most_threads, registers, ptx, binary, cache_mode, most_dynamic_shared, carveout;
  } attributes{};
  attributes.most_threads = 1024;
  attributes.registers = 32;
  attributes.ptx = attributes.binary = architecture_of_code();
  attributes.most_dynamic_shared = 49152;
  attributes.carveout = -1;
  std::memset(to, 0, 144);  // the whole struct, to which later versions only append
  std::memcpy(to, &attributes, sizeof(attributes));
  return kSuccess;
}

TAPELENS_CUDA int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads,
                                                                         size_t shared, unsigned) {
  *blocks = blocks_that_fit(threads, shared);
  return kSuccess;
}

TAPELENS_CUDA int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t shared) {
  *blocks = blocks_that_fit(threads, shared);
  return kSuccess;
}

TAPELENS_CUDA int cudaOccupancyMaxActiveClusters(int* clusters, const void*, const void*) {
  *clusters = static_cast<int>(settings().processors);
  return kSuccess;
}

TAPELENS_CUDA int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t shared) {
  *blocks = blocks_that_fit(threads, shared);
  return kSuccess;
}

TAPELENS_CUDA int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
  *clusters = static_cast<int>(settings().processors);
  return kSuccess;
}

// Kernels that a program loads: a library or module is a handle, and its kernels are separate handles.
TAPELENS_CUDA int cudaLibraryLoadData(void** library, ...) {
  *library = handle_memory(16);
  return kSuccess;
}

TAPELENS_CUDA int cudaLibraryLoadFromFile(void** library, ...) {
  *library = handle_memory(16);
  return kSuccess;
}

TAPELENS_CUDA int cudaLibraryGetKernel(void** kernel, void* library, const char*) {
  *kernel = library;
  return kSuccess;
}

TAPELENS_CUDA int cudaLibraryGetKernelCount(unsigned* count, void*) {
  *count = 0;
  return kSuccess;
}

TAPELENS_CUDA int cudaLibraryGetGlobal(void**, size_t*, void*, const char*) { return failed(kNotFound); }
TAPELENS_CUDA int cudaLibraryGetManaged(void**, size_t*, void*, const char*) { return failed(kNotFound); }
TAPELENS_CUDA int cudaLibraryGetUnifiedFunction(void**, void*, const char*) { return failed(kNotFound); }

TAPELENS_CUDA int cudaLibraryUnload(void* library) {
  free(library);
  return kSuccess;
}
